"""A frozen encoder that works once gives what one that works at every step gives."""

import os
import signal
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert.cli.signals import StoppedBySignal
from kbert.config import DatasetConfig
from kbert.config.dense_config import DenseConfig
from kbert.experiments import frozen_encoder
from kbert.experiments.finetuning import finetune
from kbert.input_pipelines.text_reader import RowsInMemory
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.training.optimizers.schedule import Schedule
from kbert.training.trainer import Trainer
from tests.conftest import tiny_finetuning_config
from tests.kbert.inference.random_model import random_model, random_task_model
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.token_classification.small_conll import write_conll


class WorksAtEveryStep(frozen_encoder.HeadModel):
    """The same training without anything kept: encoder and head at each step."""

    @property
    def input(self):
        return self.whole.input

    def call(self, inputs, training=False):
        read = self._encoder(inputs, training=False)
        return self._head([read, inputs["input_mask"]], training=training)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """The run of a bare encoder."""
    model, _ = random_model(num_hidden_layers=1)
    return written_run(tmp_path_factory.mktemp("encoder"), model.task, model.model, model.vocabulary)


@pytest.fixture(scope="module")
def train(tmp_path_factory, pretrained):
    """Function from a folder's name and the settings of a task to the finished `RunDirectory`."""
    folder = tmp_path_factory.mktemp("taggers")
    files = write_conll(folder / "train.conll", 24, 1), write_conll(folder / "dev.conll", 7, 2)

    def run(name, others=(), **settings):
        config = tiny_finetuning_config(
            task="token_classification", task_settings=settings, dataset=DatasetConfig(),
            freeze_encoder=True, log_every_steps=1, dropout_prob=0.3,
        )  # fmt: skip
        others = {other: files[1] for other in others}
        finetune(config, folder / name, *files, init_checkpoint=pretrained.path, other_dev_files=others)
        return RunDirectory(folder / name)

    return run


@pytest.fixture(scope="module")
def kept(train):
    return train("kept")


def logged(run):
    """(what of it, loss, F1, norm of the gradient) of each line of its metrics."""
    lines = read_metrics(run.metrics_file)
    names = ("loss", "f1", "gradient_norm")
    return [(line["split"], *(line.get(name, 0.0) for name in names)) for line in lines]


def weights_of(run):
    return {name: tensor.read() for name, tensor in run.stored_weights(run.checkpoint("last")).items()}


def test_a_policy_of_the_caller_rounds_nothing():
    """Keras casts a model's inputs to the policy that was set when it was made."""
    whole = random_task_model(TASKS["token_classification"].from_labels(("a", "b"))).model
    ids = np.arange(1, 8, dtype=np.int32)[None]
    inputs = {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = frozen_encoder.HeadModel(whole)
    finally:
        keras.config.set_dtype_policy(before)
    read = model.encode(inputs)[None]
    found = model({frozen_encoder._READ: read, "input_mask": inputs["input_mask"]})
    for name, expected in whole(inputs).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_long_rows_are_encoded_as_many_at_once_as_fit_into_memory(tmp_path):
    """32 of 8,192 tokens have 137 GB of scores of attention, and no smaller batch_size would help."""
    lengths, shapes = np.array([10, 4096, 8192, 4096, 4096] + [10] * 39), []
    mask = (np.arange(8192) < lengths[:, None]).astype(np.int32)
    ids = mask * np.arange(1, len(lengths) + 1, dtype=np.int32)[:, None]

    def encode(inputs):
        shapes.append(inputs["input_ids"].shape)
        return tf.cast(tf.boolean_mask(inputs["input_ids"], inputs["input_mask"] > 0), tf.float32)[:, None]

    read = SimpleNamespace(shape=(None, None, 1), dtype="float32")
    model = SimpleNamespace(whole=SimpleNamespace(read=read), encode=encode)
    features = {"input_ids": ids, "input_mask": mask, "segment_ids": mask * 0}
    rows = RowsInMemory(features, np.arange(len(ids)), name="training")
    frozen = SimpleNamespace(model=model, rows=[], folder=tmp_path)
    vectors, starts, found = frozen_encoder.EncodedRows(rows, frozen)._vectors
    assert shapes == [(1, 8192), (2, 4096), (2, 4096), (32, 10), (7, 10)]
    for row, (start, length) in enumerate(zip(starts, found, strict=True)):
        assert length == lengths[row] and (vectors[start : start + length] == row + 1).all()


@pytest.mark.long
@pytest.mark.slow
def test_a_stop_signal_ends_the_encoding(train, monkeypatch):
    class Stopped(frozen_encoder.Progress):
        def report(self, done):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(frozen_encoder, "Progress", Stopped)
    with pytest.raises(StoppedBySignal, match="stopped by SIGTERM while rows were encoded; the same command"):
        train("stopped")


@pytest.mark.long
def test_all_rows_are_encoded_before_the_clock_and_the_first_step(train, monkeypatch):
    """A stop or a full disk in a later evaluation would lose the steps since the last checkpoint. A budget of
    time would be used up before a step."""
    order = []

    class Recorded(frozen_encoder.Progress):
        def report_end(self):
            order.append("encoded")

    take_steps = Trainer._take_steps
    monkeypatch.setattr(frozen_encoder, "Progress", Recorded)
    monkeypatch.setattr(Trainer, "_take_steps", lambda self: order.append("step") or take_steps(self))
    monkeypatch.setattr(Schedule, "start", lambda self, state: order.append("clock"))
    train("others", others=("one", "two"))
    assert order[:6] == [*["encoded"] * 4, "clock", "step"] and order.count("encoded") == 4


@pytest.mark.slow
def test_losses_and_weights_are_those_of_an_encoder_that_works_at_every_step(kept, train, monkeypatch):
    monkeypatch.setattr(frozen_encoder, "HeadModel", WorksAtEveryStep)
    monkeypatch.setattr(frozen_encoder.EncodedRows, "completed", lambda self, batches: batches)
    expected = train("every step")
    assert len(logged(kept)) == len(logged(expected)) == 7
    for found, line in zip(logged(kept), logged(expected), strict=True):
        assert found[0] == line[0] and found[1:] == pytest.approx(line[1:], rel=1e-4), line
    for name, values in weights_of(expected).items():
        np.testing.assert_allclose(weights_of(kept)[name], values, atol=2e-5, err_msg=name)


@pytest.mark.long
def test_the_encoder_of_the_run_is_that_of_the_checkpoint(kept, pretrained):
    weights, before = weights_of(kept), weights_of(pretrained)
    encoder = [name for name in weights if name.startswith(("embeddings/", "layer_"))]
    assert len(encoder) > 15 and weights.keys() - encoder
    for name in encoder:
        np.testing.assert_array_equal(weights[name], before[name], name)
    loaded = kbert.load(kept.path)
    assert loaded.predict("help and call")["words"][0]["label"] in loaded.task.labels


@pytest.mark.parametrize("dense", [(), (DenseConfig(8),)])
@pytest.mark.parametrize(
    "name", ["sequence_classification", "multiple_choice", "cosine_similarity", "late_interaction"]
)
def test_a_task_that_makes_one_vector_of_a_text_or_takes_several_is_refused(name, dense, tmp_path):
    task = TASKS[name].from_labels(("a", "b"))
    if task.vectors_class:
        task = task.with_pooling(task.vectors_class(dense=dense))
    with pytest.raises(ValueError, match=f"token vectors of a text, which the model for {name} lacks"):
        frozen_encoder.FrozenEncoder(task, tmp_path)
