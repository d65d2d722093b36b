"""A tiny pretraining batch and a training step around a tiny model, without files."""

import keras
import numpy as np
import tensorflow as tf

from kbert.config import FinetuningConfig, FrozenConfig, OptimizerConfig
from kbert.encoder import BertEncoder
from kbert.input_pipelines.epochs import own_rows
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.training.devices.distribution import distribute
from kbert.training.evaluation_step import means
from kbert.training.optimizers import make_optimizer
from kbert.training.optimizers.schedule import make_schedule
from kbert.training.train_step import TrainStep
from tests.conftest import tiny_encoder_config

NOTHING_FROZEN = FrozenConfig()
SEQ_LENGTH, PREDICTIONS, VOCAB_SIZE = 10, 3, 22


def random_batches(num_batches, batch_size, seed=0):
    """Examples of different lengths and different numbers of predictions, as NumPy arrays."""
    rng = np.random.default_rng(seed)
    shape = (num_batches, batch_size, SEQ_LENGTH)
    lengths = rng.integers(4, SEQ_LENGTH + 1, size=(num_batches, batch_size, 1))
    mask = (np.arange(SEQ_LENGTH) < lengths).astype(np.int32)
    predictions = rng.integers(1, PREDICTIONS + 1, size=(num_batches, batch_size, 1))
    few = (num_batches, batch_size, PREDICTIONS)
    # Positions among the first four, which every example has, each once.
    positions = rng.permuted(np.broadcast_to(np.arange(4), (*few[:2], 4)), axis=-1)[..., :PREDICTIONS]
    return {
        "input_ids": rng.integers(5, VOCAB_SIZE, size=shape).astype(np.int32) * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(SEQ_LENGTH) >= lengths // 2).astype(np.int32) * mask,
        "masked_lm_positions": positions.astype(np.int32),
        "masked_lm_ids": rng.integers(5, VOCAB_SIZE, size=few).astype(np.int32),
        "masked_lm_weights": (np.arange(PREDICTIONS) < predictions).astype(np.float32),
        "next_sentence_labels": rng.integers(0, 2, size=(num_batches, batch_size, 1)).astype(np.int32),
    }


def random_triplets(num_batches, batch_size, num_texts=3, length=6):
    """Batches of triplets whose texts have different lengths."""
    rng = np.random.default_rng(2)
    shape = (num_batches, batch_size, num_texts, length)
    mask = (np.arange(length) < rng.integers(3, length + 1, size=(*shape[:3], 1))).astype(np.int32)
    ids = rng.integers(5, VOCAB_SIZE, size=shape).astype(np.int32) * mask
    targets = np.full(shape[:2], np.nan, np.float32)
    return {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids, "targets": targets}


def shares_of(batches, share):
    """The same batches again and again; each input pipeline has a share of every one."""
    dataset = tf.data.Dataset.from_tensor_slices(batches).repeat()
    size = len(batches["input_ids"][0])
    return dataset.map(lambda batch: {name: own_rows(value, size, share) for name, value in batch.items()})


class SmallTraining:
    """A tiny model from a fixed start, and its training step over the given batches, again and again."""

    def __init__(
        self,
        batches,
        strategy=None,
        dropout=0.1,
        jit_compile=False,
        seed=7,
        learning_rate=2e-3,
        num_train_steps=1000,
        clipnorm=1.0,
        dtype="float32",
        gradient_accumulation_steps=1,
        optimizer_name="adam_weight_decay",
        precision=None,
        task=None,
        frozen=NOTHING_FROZEN,
        num_hidden_layers=1,
        recompute=False,
    ):
        strategy = strategy or tf.distribute.get_strategy()
        encoder = tiny_encoder_config(
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            num_hidden_layers=num_hidden_layers,
        )
        optimizer_config = OptimizerConfig(
            name=optimizer_name, learning_rate=learning_rate, global_clipnorm=clipnorm
        )
        task = task or Pretraining()
        keras.utils.set_random_seed(1)
        with strategy.scope():
            bert = BertEncoder(encoder, dtype=dtype, recompute=recompute)
            self.model = task.build_model(bert)
            self.weights = trained_weights(self.model)
            trained = FinetuningConfig(frozen=frozen)
            updated = {name: value for name, value in self.weights.items() if trained.is_updated(name)}
            self.optimizer = make_optimizer(optimizer_config, updated)
            self.global_step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.step = TrainStep(
            task,
            self.model,
            self.optimizer,
            make_schedule(optimizer_config, num_train_steps, 0),
            self.global_step,
            strategy,
            jit_compile,
            seed,
            gradient_accumulation_steps,
            (precision or dtype).removeprefix("mixed_"),
        )
        self._dataset = distribute(strategy, lambda share: shares_of(batches, share))
        self._start = self.snapshot()
        self.restart()

    def run(self, num_steps=1) -> dict:
        """Takes steps in one call; the means of losses and metrics."""
        return means(self.step.run(self._batches, tf.constant(num_steps, tf.int32)))

    def losses(self, num_steps) -> list[tuple[float, float]]:
        """Takes steps one by one; both losses of each."""
        values = [self.run() for _ in range(num_steps)]
        return [(float(v["masked_lm_loss"]), float(v["next_sentence_loss"])) for v in values]

    def snapshot(self) -> dict:
        return {name: v.numpy() for name, v in self._variables().items()}

    def _variables(self):
        return self.weights | self.optimizer.slots() | self.step.state()

    def restart(self):
        """Weights, moments, step counter and data as they were at first."""
        for name, variable in self._variables().items():
            variable.assign(self._start[name])
        self.global_step.assign(0)
        self._batches = iter(self._dataset)
