"""Training, answers and an export with core ops, in a process that cannot import TF-Text."""

import json
import subprocess
import sys

import numpy as np
import pytest

import kbert
from export.export_savedmodel import export_savedmodel
from export.gate.saved_model_session import SavedModelSession
from kbert.tasks import TASKS
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from tests.kbert.inference.random_model import random_task_model
from tests.kbert.tokenization.small_vocabularies import sentencepiece_model
from tests.places import REPOSITORY

pytestmark = pytest.mark.long
TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown Wörd \u0958\u302e\ud55c", "play " * 40]

PROGRAM = """
import json, sys
sys.modules["tensorflow_text"] = None  # so that an import of it fails

import kbert
import tensorflow as tf
from kbert.tokenization.text_ops import import_tf_text
from tests.conftest import tiny_pretraining_config

run_dir, records, classifier, served, *texts = sys.argv[1:]
tf.config.run_functions_eagerly(True)  # each is called once
kbert.pretrain(tiny_pretraining_config(num_train_steps=2), run_dir, records + "/train")
model = kbert.load(classifier)
attempts = import_tf_text.cache_info().misses
signature = tf.saved_model.load(served).signatures["serving_default"]
answers = model.model(model.inputs(texts)), signature(text=tf.constant(texts))
probabilities = [answer["probabilities"].numpy().tolist() for answer in answers]
print("\\0" + json.dumps([attempts, *probabilities]))
"""


@pytest.fixture(scope="module")
def core_export(finetuned_run, tmp_path_factory):
    return export_savedmodel(finetuned_run, tmp_path_factory.mktemp("served") / "core", text_ops="core")


def test_an_export_with_core_ops_passes_the_gate_and_answers_as_keras(core_export, finetuned_run):
    assert core_export["text_ops"] == [] and core_export["oldest_server"] == "2.12"
    assert core_export["max_difference"] <= 1e-5
    model = kbert.load(finetuned_run.path)
    served = SavedModelSession(core_export["path"]).run("serving_default", {"text": np.array(TEXTS, object)})
    expected = model.model(model.inputs(TEXTS))["probabilities"]
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-5)


def test_other_text_ops_are_refused_before_any_work(finetuned_run, tmp_path):
    model = random_task_model(TASKS["sequence_classification"](("a", "b")))
    model.vocabulary = SentencePieceVocabulary(sentencepiece_model())
    with pytest.raises(ValueError, match="random has a SentencePiece model, .* leave --text_ops out"):
        export_savedmodel(model, tmp_path / "served", text_ops="core")
    with pytest.raises(ValueError, match="text_ops='tf-text' is not known; choose one of tf_text, core"):
        export_savedmodel(finetuned_run, tmp_path / "served", text_ops="tf-text")
    assert not (tmp_path / "served").exists()


def test_without_tf_text_records_train_and_texts_have_the_same_answers(
    core_export, finetuned_run, records_dir, tmp_path
):
    arguments = [tmp_path / "run", records_dir, finetuned_run.path, core_export["path"], *TEXTS]
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    attempts, *probabilities = json.loads(done.stdout.partition("\0")[2])
    assert attempts == 0  # neither training from records nor loading a model asks for it
    assert done.stderr.count("TF-Text cannot be imported") == 1
    assert (tmp_path / "run" / "metrics.jsonl").is_file()
    model = kbert.load(finetuned_run.path)
    expected = model.model(model.inputs(TEXTS))["probabilities"]
    for received in probabilities:
        np.testing.assert_allclose(received, expected, atol=1e-5)
