"""Servers of small models that many files ask."""

import json

import pytest
import tensorflow as tf

import kbert
from export.server.running import DevelopmentServer
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.export.server.asking import Asked
from tests.kbert.checkpoints.test_damaged_checkpoints import sentences
from tests.kbert.runs.written_run import written_run
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

PAIR = [tf.TensorSpec([None], tf.string, name=name) for name in ("text", "text_pair")]
PROMPTS = {"prompts": {"query": "the ", "document": ""}, "default_prompt_name": None}


@pytest.fixture(scope="session")
def e5_folder(tmp_path_factory):
    """A sentence-transformers folder with prompts, of 12 tokens at most."""
    made = tmp_path_factory.mktemp("vectors") / "e5 tiny"
    sentences(made)
    (made / "config_sentence_transformers.json").write_text(json.dumps(PROMPTS))
    return made


@pytest.fixture(scope="session")
def vectors(e5_folder):
    """(what asks a server of the folder itself, the model in Python)."""
    with DevelopmentServer(e5_folder, None, 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(e5_folder)


class Judge(tf.Module):
    """The length of the second text, a number whose sigmoid is the score; without a vocabulary."""

    @tf.function(input_signature=PAIR)
    def pair(self, text, text_pair):
        logits = tf.cast(tf.strings.length(text_pair) - tf.strings.length(text), tf.float32)
        return {"prediction": tf.sigmoid(logits), "logits": logits, "truncated": logits > 5}


@pytest.fixture(scope="session")
def judge(tmp_path_factory):
    """What asks a server of a `Judge`."""
    folder, module = tmp_path_factory.mktemp("judge") / "1", Judge()
    tf.saved_model.save(module, str(folder), {"serving_default": module.pair})
    with DevelopmentServer(folder, "judge", 0, 0) as server:
        yield Asked(server.rest_api_port)


def pair_task(folder, **settings):
    """A cross-encoder: a run that gives a pair of texts one number."""
    vocabulary = small_corpus.vocabulary()
    task = TASKS["sequence_regression"](takes_pairs=True, **settings)
    model = task.build_model(BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary)), dtype="float32"))
    randomize(model)
    return written_run(folder, task, model, vocabulary)


@pytest.fixture(scope="session")
def ranking(tmp_path_factory):
    """(what asks a server of a cross-encoder, the model in Python)."""
    run = pair_task(tmp_path_factory.mktemp("ranking") / "run")
    with DevelopmentServer(run.path, "judge", 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(run.path)


@pytest.fixture(scope="session")
def labels(finetuned_run):
    """(what asks a server of a classifier of single texts, the model in Python)."""
    with DevelopmentServer(finetuned_run.path, "org/loud", 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(finetuned_run.path)
