"""Endless epochs: every example once an epoch, in an order that only seed and epoch decide."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS
from kbert.input_pipelines import text_reader
from kbert.input_pipelines.batches import training_batches, trim_padding
from kbert.input_pipelines.epochs import endless_epochs, pad_last_batch
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.input_pipelines.text_reader import RowsInMemory
from kbert.tokenization.long_texts import HeadAndTailInputs, WindowInputs
from kbert.tokenization.text_inputs import TextInputs

ROWS = 23


def text_features():
    """Rows of different lengths; the first id of a row is its number."""
    lengths = 2 * (np.arange(ROWS) % 11) + 2
    mask = (np.arange(48) < lengths[:, None]).astype(np.int32)
    ids = np.arange(ROWS, dtype=np.int32)[:, None] * mask
    return {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * mask, "label_ids": np.arange(ROWS)}


def text_examples(start, number, batch_size=4, seed=1):
    batches = training_batches(RowsInMemory(text_features()), batch_size, seed, start, pad_to_longest=True)
    return _take(batches, number, lambda batch: batch["label_ids"].numpy().tolist())


def _take(batches, number, to_examples):
    examples = []
    for batch in batches:
        examples += to_examples(batch)
        if len(examples) >= number:
            return examples[:number]


# ----------------------------------------------------------------------------------- text_reader


def test_every_row_once_an_epoch_in_a_new_order():
    examples = text_examples(0, 3 * ROWS)
    epochs = [examples[i * ROWS : (i + 1) * ROWS] for i in range(3)]
    assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in [*epochs, range(ROWS)]}) == 4
    assert text_examples(0, ROWS, seed=2) != epochs[0]


@pytest.mark.parametrize("start", [1, 4, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 5])
def test_rows_resume_anywhere(start):
    assert text_examples(start, 30) == text_examples(0, start + 30)[start:]


# --------------------------------------------------------------------------------- record_reader


# ----------------------------------------------------------------------------------- the parts


def test_the_seed_and_number_of_an_epoch_decide_its_order():
    def make_epoch(seed):
        return tf.data.Dataset.from_tensors(seed)

    seeds = [int(seed) for seed in endless_epochs(make_epoch, 1, 5, 0).take(4)]
    others = [int(seed) for seed in endless_epochs(make_epoch, 1, 6, 0).take(4)]
    assert len({*seeds, *others}) == 8
    assert [int(seed) for seed in endless_epochs(make_epoch, 1, 5, 2).take(2)] == seeds[2:]


@pytest.mark.parametrize("number", [1, 8, 9])
@pytest.mark.parametrize("with_fill", [False, True])
def test_pad_last_batch(number, with_fill):
    rows = tf.data.Dataset.range(number).map(lambda i: {"a": tf.stack([i, i]), "b": tf.cast(i, tf.float32)})
    batches = list(pad_last_batch(rows.batch(4), 4, with_fill))
    real = []
    for batch in batches:
        weights = batch[EXAMPLE_WEIGHTS].numpy()
        assert batch["a"].shape == (len(weights), 2) and batch["b"].shape == weights.shape
        real += batch["a"].numpy()[weights == 1.0, 0].tolist()
        assert set(weights) <= {0.0, 1.0}
    assert real == list(range(number))
    sizes = [len(batch["b"]) for batch in batches]
    assert sizes == (
        [4] * -(-number // 4) if with_fill else [4] * (number // 4) + [number % 4] * (number % 4 > 0)
    )
    if with_fill:  # what fills up is a copy of a real row, not something no model has seen
        assert set(batches[-1]["b"].numpy()) <= set(range(number))


def test_trim_padding_cuts_what_is_padding_everywhere():
    features = {name: tf.constant(value) for name, value in text_features().items()}
    for rows, length in (([0], 16), ([6, 7], 16), ([6, 8], 32), (list(range(ROWS)), 32)):
        batch = {name: tf.gather(value, rows) for name, value in features.items()}
        trimmed = trim_padding(batch)
        assert trimmed["input_ids"].shape == trimmed["segment_ids"].shape == (len(rows), length)
        assert int(tf.reduce_sum(trimmed["input_mask"])) == int(tf.reduce_sum(batch["input_mask"]))
        np.testing.assert_array_equal(trimmed["label_ids"], batch["label_ids"])
    full = {name: tf.ones((2, 10), tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    assert trim_padding(full)["input_ids"].shape == (2, 10)


@pytest.mark.parametrize("pairs", [False, True])
def test_tokenize_rows_is_the_tokenizer_row_by_row(vocabulary, pairs, caplog):
    words = ("play", "walks", "jump the and" + " play" * 9, "")
    rows = [LabelledText(words[i % 4], words[i % 3] if pairs else None, None) for i in range(7)]
    text_inputs = TextInputs(vocabulary, 12)
    with caplog.at_level("INFO", logger="absl"):
        features = text_reader.tokenize_rows(rows, text_inputs)
    cut = "3 of 7 texts (42.9%)" if pairs else "2 of 6 texts (33.3%)"  # empty ones do not count
    said = f"{cut} are longer than max_seq_length=12 tokens, and are cut at the end."
    assert said in [record.getMessage() for record in caplog.records]
    for index, row in enumerate(rows):
        single = text_inputs(tf.constant([row.text]), tf.constant([row.text_pair]) if pairs else None)
        for name, value in single.items():
            np.testing.assert_array_equal(features[name][index], value[0])
            assert features[name].dtype == np.int32


@pytest.mark.parametrize(
    ("reader", "left_out"),
    [(HeadAndTailInputs, "lose their middle"), (WindowInputs, "their first text is cut")],
)
def test_other_ways_to_read_long_texts_say_what_is_in_no_row(vocabulary, reader, left_out, caplog):
    rows = [LabelledText("play " * 9, "jump " * number, None) for number in (1, 1, 30)]
    rows.append(LabelledText("play", "jump " * 4, None))
    with caplog.at_level("INFO", logger="absl"):
        text_reader.tokenize_rows(rows, reader(TextInputs(vocabulary, 12)))
    said = f"3 of 4 texts (75%) are longer than max_seq_length=12 tokens, and {left_out}"
    assert said in caplog.text
