"""The counted arithmetic against what XLA's program of the same step multiplies."""

import math
import re

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import FinetuningConfig, FrozenConfig, LoraConfig
from kbert.config.lora_config import LORA_TARGETS
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining import MaskedLM, Pretraining
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.training.measuring.step_work import count_work
from kbert.training.measuring.training_flops import Heads, StepWork, training_flops
from tests.conftest import tiny_encoder_config
from tests.kbert.training.small_training import random_batches

_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?(%?[\w.-]+) = \w+\[([\d,]*)\]\S* ([\w-]+)\(([^)]*)\)(.*)$")


def dots(hlo: str) -> list[tuple[tuple, tuple]]:
    """(shape of the result, sizes summed over) of every matrix product in the text of an XLA program."""
    shapes, products = {}, []
    for line in hlo.splitlines():
        match = _INSTRUCTION.match(line)
        if not match:
            continue
        name, shape, operation, operands, rest = match.groups()
        shapes[name] = tuple(map(int, shape.split(","))) if shape else ()
        if operation == "dot":
            left = operands.split(",")[0].split()[-1]
            if "[" in operands:  # operands with their types: the last word is still the name
                left = re.findall(r"%?[\w.-]+", re.sub(r"\w+\[[\d,]*\](\{[\d,]*\})?", "", operands))[0]
            axes = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", rest).group(1)
            summed = tuple(shapes[left][int(axis)] for axis in axes.split(","))
            products.append((shapes[name], summed))
    return products


def program(task, encoder, batch, is_updated=lambda name: True) -> str:
    """XLA's program of forward and backward pass."""
    model = task.build_model(encoder)
    variables = [v.value for name, v in trained_weights(model).items() if is_updated(name)]

    @tf.function(jit_compile=True)
    def gradients(batch):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            outputs = model({name: batch[name] for name in model.input}, training=True)
            loss = tf.add_n(list(task.loss_sums(outputs, batch).values()))
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]

    return gradients.experimental_get_compiler_ir(batch)(stage="hlo")


def full_batch(batch_size, seq_length, **features):
    ids = np.ones((batch_size, seq_length), np.int32)
    batch = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids} | features
    return {name: tf.constant(value) for name, value in batch.items()}


@pytest.mark.slow
@pytest.mark.parametrize("next_sentence", [True, False])
def test_pretraining_is_counted_product_for_product(next_sentence):
    config = tiny_encoder_config(type_vocab_size=7)
    predictions = np.tile(np.arange(3, dtype=np.int32), (4, 1))
    batch = full_batch(
        4,
        10,
        masked_lm_positions=predictions,
        masked_lm_ids=predictions,
        masked_lm_weights=np.ones((4, 3), np.float32),
        next_sentence_labels=np.zeros((4, 1), np.int32),
    )
    products = dots(program((Pretraining() if next_sentence else MaskedLM()), BertEncoder(config), batch))
    heads = Heads(masked_lm=True, pooled_labels=2 * next_sentence)
    assert counted(products, config) == training_flops(config, StepWork.of_batch(4, 10, 3), heads)
    assert training_flops(config, StepWork(*count_work(batch).numpy()), heads) == training_flops(
        config, StepWork.of_batch(4, 10, 3), heads
    )


@pytest.mark.slow
def test_classification_is_counted_product_for_product():
    config = tiny_encoder_config(type_vocab_size=7)
    batch = full_batch(4, 12, label_ids=np.zeros(4, np.int32))
    task = SequenceClassification(["a", "b", "c"])
    products = dots(program(task, BertEncoder(config), batch))
    work = StepWork.of_batch(4, 12)
    assert counted(products, config) == training_flops(config, work, Heads(pooled_labels=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "frozen", [FrozenConfig(False, 1), FrozenConfig(True, 0), FrozenConfig(True, 1), FrozenConfig(True, 2)]
)
def test_what_is_frozen_is_counted_product_for_product(frozen):
    config = tiny_encoder_config(type_vocab_size=7)
    batch = full_batch(4, 12, label_ids=np.zeros(4, np.int32))
    task = SequenceClassification(["a", "b", "c"])
    products = dots(program(task, BertEncoder(config), batch, lambda name: not frozen.holds(name)))
    work = StepWork.of_batch(4, 12)
    expected = training_flops(config, work, Heads(pooled_labels=3), frozen)
    assert counted(products, config, table_is_trained=not frozen.embeddings) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(("query", "key", "value"), marks=pytest.mark.long),
        pytest.param(LORA_TARGETS[3:], marks=pytest.mark.long),
        LORA_TARGETS,
    ],
)
def test_adapters_are_counted_product_for_product(targets):
    config, lora = tiny_encoder_config(type_vocab_size=7), LoraConfig(rank=3, targets=targets)
    batch = full_batch(4, 12, label_ids=np.zeros(4, np.int32))
    task, settings = SequenceClassification(["a", "b", "c"]), FinetuningConfig(lora=lora)
    products = dots(program(task, BertEncoder(config, lora=lora), batch, is_updated=settings.is_updated))
    expected = training_flops(config, StepWork.of_batch(4, 12), Heads(pooled_labels=3), lora=lora)
    assert counted(products, config, table_is_trained=False) == expected


def counted(products, config, table_is_trained=True):
    """FLOPs of all products but those that are no work of a matrix.

    The lookup of segments is told by a size that nothing else has. Sums that kernels write as products with
    ones are told by their shapes: those of rows (`row_sums`), and the gradients of two biases, in
    `vocabulary_logits` and `split_heads`.
    """
    biases = (config.vocab_size, 3 * config.hidden_size)
    sums = {shape for width in biases for shape in ((width,), (1, width))}
    products = [(shape, summed) for shape, summed in products if shape not in sums and shape[-1] != 1]
    assert len(products) > 6 * config.num_hidden_layers
    lookup = {(config.type_vocab_size,)}, {(config.type_vocab_size, config.hidden_size)}
    others = [
        (shape, summed) for shape, summed in products if summed not in lookup[0] and shape not in lookup[1]
    ]
    assert len(others) == len(products) - 1 - table_is_trained  # the lookup, and its table's gradient
    return sum(2 * math.prod(shape) * math.prod(summed) for shape, summed in others)


def test_padding_and_unused_predictions_are_no_work():
    batch = {name: values[0] for name, values in random_batches(1, 6).items()}
    lengths = batch["input_mask"].sum(axis=1)
    assert StepWork(*count_work(batch).numpy()) == StepWork(
        examples=6,
        sequences=6,
        tokens=lengths.sum(),
        token_pairs=(lengths**2).sum(),
        predictions=batch["masked_lm_weights"].sum(),
        positions=60,
    )


def test_choices_of_one_example_are_sequences_of_their_own():
    mask = np.array([[[1, 1, 0], [1, 0, 0]]], np.int32)
    expected = StepWork(examples=1, sequences=2, tokens=3, token_pairs=5, predictions=0, positions=6)
    assert StepWork(*count_work({"input_mask": mask}).numpy()) == expected


def test_work_adds_up():
    one, other = StepWork.of_batch(4, 10, 3), StepWork.of_batch(2, 20)
    assert one + other == StepWork(6, 6, 80, 4 * 100 + 2 * 400, 12, 80)
