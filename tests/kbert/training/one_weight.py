"""A training with a model of one weight: all the bookkeeping of a run, in a second.

Schedules, stops, patience, phases, full disks and the like do not depend on the model.
"""

import dataclasses

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from kbert.config import EncoderConfig, FinetuningConfig, OptimizerConfig
from kbert.heads.parts import Part
from kbert.input_pipelines.batches import Rows
from kbert.tasks import TASKS
from kbert.tasks.losses import example_mean, example_sum
from kbert.tasks.task import Task
from kbert.training.phases import EvaluationData, Phase, Plan
from kbert.training.trainer import open_run, train
from tests.tfrecords_tools import small_corpus

NAME = "one_weight"


class Weight(keras.layers.Layer):
    """Multiplies by its one weight."""

    def build(self, input_shape):
        self.weight = self.add_weight(name="weight", shape=(1,), initializer="ones")

    def call(self, inputs):
        return inputs * self.weight


class OneWeight(Task):
    """Learns that weight x mean of `input_ids` equals `targets`; it needs no encoder."""

    name = NAME
    parts = (Part("scale", "sequence_output"),)

    def build_model(self, encoder):
        ids = keras.Input((None,), dtype="int32", name="input_ids")
        mean = keras.layers.Lambda(lambda x: ops.mean(ops.cast(x, "float32"), axis=-1, keepdims=True))(ids)
        return keras.Model({"input_ids": ids}, {"prediction": Weight(name="scale")(mean)})

    def loss_sums(self, outputs, batch, training=False):
        return {"loss": example_sum(ops.square(outputs["prediction"][:, 0] - batch["targets"]), batch)}

    def metric_sums(self, outputs, batch):
        close = ops.cast(ops.abs(outputs["prediction"][:, 0] - batch["targets"]) < 1, "float32")
        return {"closeness": example_mean(close, batch)}


def examples(number, seed=0) -> dict:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 9, (number, 4)).astype(np.int32)
    targets = (2.5 * ids.mean(axis=1) + rng.normal(0, 0.1, number)).astype(np.float32)
    return {"input_ids": ids, "input_mask": np.ones_like(ids), "targets": targets}


def config_of(**changes) -> FinetuningConfig:
    values = {
        "encoder": EncoderConfig(
            vocab_size=22, hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=2,
            max_position_embeddings=8,
        ),
        "optimizer": OptimizerConfig(name="adamw", learning_rate=0.05),
        "train_batch_size": 4,
        "eval_batch_size": 4,
        "max_seq_length": 4,
        "steps_per_execution": 2,
        "log_every_steps": 2,
        "save_checkpoints_steps": 4,
        "eval_every_steps": 4,
        "peak_flops": 1e9,
        "padding": "keep",
        "best_metric": "loss",
        "pad_to_longest": False,
    }  # fmt: skip
    return FinetuningConfig(**values | changes)


class InTurn(Rows):
    """Rows that come again and again in their order."""

    def __init__(self, data):
        self._data, self.name, self.num_rows = data, "the rows", len(data["input_ids"])

    def shuffled(self, batch_size, seed, start_example, share):
        del seed, share
        rows = tf.data.Dataset.from_tensor_slices(self._data).repeat()
        batches = rows.batch(batch_size, drop_remainder=True)
        return batches.skip(start_example // batch_size)

    def in_order(self, batch_size):
        return tf.data.Dataset.from_tensor_slices(self._data).batch(batch_size)


def phase_of(config, num_steps, data=None, **settings) -> Phase:
    """A phase on `data`, which comes again and again in its order."""
    held_out = {"": EvaluationData(InTurn(examples(8, seed=1)))}
    rows = InTurn(data or examples(24))
    return Phase(config, num_steps, settings.pop("num_warmup_steps", 0), rows, held_out, **settings)


def train_phases(run_dir, config, phases, **settings):
    """Trains or resumes in `run_dir`; returns the last evaluation's metrics, and the `RunDirectory`."""
    plan = Plan(tuple(phases), config.eval_every_steps, **settings)
    strategy = tf.distribute.get_strategy()
    details = {"task": NAME, "task_config": {}, "max_seq_length": 4}
    with open_run(strategy, run_dir, config, details, small_corpus.vocabulary()) as run:
        metrics = train(OneWeight(), config, plan, run, strategy)
    return metrics, run


def train_one_weight(run_dir, config=None, num_steps=8, data=None, patience=None, **changes):
    """The same of a single phase."""
    config = config or config_of(**changes)
    phase = phase_of(config, num_steps, data)
    return train_phases(run_dir, config, [phase], early_stopping_patience=patience)


def register(monkeypatch):
    """Registers the task during one test, so that run directories find it."""
    monkeypatch.setitem(TASKS, NAME, OneWeight)


def replace(config, **changes):
    return dataclasses.replace(config, **changes)
