"""An ELECTRA and a DistilBERT: trained, evaluated, written as they are."""

import dataclasses
import json

import numpy as np
import pytest

import kbert
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import FrozenConfig, OptimizerConfig
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.files.stored_tensor import stored_array
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.checkpoints.random_checkpoint import (
    DISTILBERT,
    ELECTRA,
    SEGMENTS,
    numbers,
    random_checkpoint,
)
from tests.tfrecords_tools import small_corpus

TEXTS = ["jump the a", "walks and jumped.", "an unknown word", "play " * 40]
PROJECTION = "embeddings/projection/kernel"


def start(folder, settings):
    """A folder of transformers with an encoder of the corpus's vocabulary."""
    shape = dataclasses.asdict(tiny_encoder_config()) | settings
    model = random_checkpoint("encoder", **shape)
    model = dataclasses.replace(model, vocabulary=small_corpus.vocabulary(), max_seq_length=32)
    write_checkpoint(model, folder, "hugging_face")
    return folder


@pytest.fixture(scope="module")
def electra(tmp_path_factory):
    return start(tmp_path_factory.mktemp("electra") / "start", ELECTRA)


@pytest.fixture(scope="module")
def run(electra, labelled_files, tmp_path_factory):
    optimizer = OptimizerConfig(name="adamw", learning_rate=5e-3, layer_decay=0.8)
    path = tmp_path_factory.mktemp("electra_run") / "run"
    finetune(tiny_finetuning_config(optimizer=optimizer), path, *labelled_files, init_checkpoint=electra)
    return RunDirectory(path)


def kernel_of(path, name=PROJECTION):
    return read_checkpoint(path).tensors[name].read()


def test_it_learns_and_is_evaluated_as_it_was_trained(run, electra, labelled_files):
    encoder = json.loads((run.path / "config.json").read_text())["encoder"]
    assert (encoder["embedding_size"], encoder["pooler_hidden_act"]) == (4, "gelu_erf")
    losses = [line["loss"] for line in read_metrics(run.metrics_file) if line["split"] == "train"]
    assert losses[-1] < losses[0] and np.any(kernel_of(run.path) != kernel_of(electra))
    _, metrics = evaluate(run, labelled_files[1])
    last = [line for line in read_metrics(run.metrics_file) if line["split"] == "eval"][-1]
    assert metrics["loss"] == pytest.approx(last["loss"], abs=1e-5)


def test_written_as_electra_it_answers_the_same(run, tmp_path):
    write_checkpoint(read_checkpoint(run.path), tmp_path / "hf", "hugging_face")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["architectures"] == ["ElectraForSequenceClassification"] and config["embedding_size"] == 4
    assert numbers(read_checkpoint(tmp_path / "hf")) == numbers(read_checkpoint(run.path))
    ours, theirs = kbert.load(run.path), kbert.load(tmp_path / "hf")
    assert ours.predict(TEXTS) == theirs.predict(TEXTS)
    np.testing.assert_array_equal(ours.embed(TEXTS), theirs.embed(TEXTS))


def test_a_masked_lm_is_refused(electra, records_dir, tmp_path):
    sentence = "embedding_size=4 is not hidden_size=16, but the masked-LM head takes its output matrix"
    with pytest.raises(ValueError, match=sentence):
        tiny_pretraining_config(encoder=tiny_encoder_config(embedding_size=4))
    with pytest.raises(ValueError, match=sentence):
        kbert.MaskedLM().build_model(BertEncoder(tiny_encoder_config(embedding_size=4)))
    config = tiny_pretraining_config(encoder=None)
    with pytest.raises(ValueError, match=sentence):
        pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=electra)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_trained_distilbert_is_one_while_its_segments_are_zero(labelled_files, tmp_path):
    model = random_checkpoint(
        "sequence_classification", ("quiet", "loud"), **dataclasses.asdict(tiny_encoder_config()) | DISTILBERT
    )
    model = dataclasses.replace(model, vocabulary=small_corpus.vocabulary())
    write_checkpoint(model, tmp_path / "start", "hugging_face")
    config = tiny_finetuning_config(num_train_epochs=0.4, frozen=FrozenConfig(embeddings=True))
    finetune(config, tmp_path / "run", *labelled_files, init_checkpoint=tmp_path / "start")
    trained = read_checkpoint(tmp_path / "run")
    assert trained.encoder.pooler_hidden_act == "relu"
    write_checkpoint(trained, tmp_path / "hf", "hugging_face")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["architectures"] == ["DistilBertForSequenceClassification"]
    assert numbers(read_checkpoint(tmp_path / "hf")) == numbers(trained)
    trained.tensors[SEGMENTS] = stored_array(np.ones(trained.shapes[SEGMENTS], np.float32))
    with pytest.raises(ValueError, match=f"{SEGMENTS} is not zero, because it was trained"):
        write_checkpoint(trained, tmp_path / "other", "hugging_face")
