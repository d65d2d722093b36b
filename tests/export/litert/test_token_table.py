"""An int8 token table with a scale for each row: what it gives, on several lengths, beside the floats."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from export.litert.conversion import convert_to_litert
from export.litert.flatbuffer import count_ops, read_model, write_model
from export.litert.token_table import quantize_rows, with_row_scales
from kbert.features import ENCODER_INPUTS
from kbert.tasks.signatures.signature import Signature

ROWS, WIDTH = 50, 32
_rng = np.random.default_rng(3)
# Rows of very different sizes: with one scale for all, the small ones become zeros.
TABLE = (_rng.normal(size=(ROWS, WIDTH)) * np.geomspace(0.001, 10, ROWS)[:, None]).astype(np.float32)


def test_a_scale_for_each_row():
    table = np.concatenate([TABLE, np.zeros((1, WIDTH), np.float32)])
    quantized, scales = quantize_rows(table)
    assert quantized.dtype == np.int8 and scales.shape == (ROWS + 1, 1)
    assert (np.abs(quantized[:-1]).max(axis=1) == 127).all() and not quantized[-1].any()
    assert (np.abs(quantized * scales - table) <= scales / 2 * 1.001).all()


@pytest.fixture(scope="module")
def looked_up():
    """A signature of token ids whose only weights are a table of tokens, looked up and added up."""
    layer = keras.layers.Embedding(ROWS, WIDTH)
    layer.build(None)
    layer.embeddings.assign(TABLE)

    def sums(input_ids, input_mask, segment_ids):
        weights = tf.cast(input_mask + segment_ids, tf.float32)[..., None]
        return {"rows": layer(input_ids) * weights}

    specs = {name: ("int32", [None, None]) for name in ENCODER_INPUTS}
    return Signature(specs, sums)


def ask(content, length, name):
    runner = Interpreter(model_content=content).get_signature_runner(name)
    ids = np.arange(length, dtype=np.int32)[None] * 7 % ROWS
    inputs = {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    return runner(**inputs)["rows"][0], TABLE[ids[0]]


def test_every_row_keeps_its_size_in_every_length(looked_up):
    content = convert_to_litert(looked_up, [4, 12], "dynamic_int8")
    for graph in read_model(content).subgraphs:
        names = [graph.tensors[index].name.decode() for index in graph.inputs]
        assert all(own in name for own, name in zip(ENCODER_INPUTS, names, strict=True)), names
    for length in (4, 12):
        found, expected = ask(content, length, f"length_{length}")
        apart = np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)
        assert apart.max() <= 0.5 / 127 * 1.001
    assert count_ops(content)["GATHER"] == 4  # rows and scales, in both lengths
    model = read_model(content)
    scales = {
        tensor.buffer for g in model.subgraphs for tensor in g.tensors if tensor.name == b"token_table/scales"
    }
    assert len(scales) == 1, "all lengths share them"


def test_weights_are_aligned_and_a_file_without_int8_table_stays_as_it_is(looked_up):
    content = convert_to_litert(looked_up, [4], "float32")
    assert with_row_scales(content, [TABLE]) is content
    written = write_model(read_model(content), len(content))
    place = written.find(TABLE.tobytes())
    assert place > 0 and place % 16 == 0
    np.testing.assert_array_equal(*(ask(one, 4, "serving_default")[0] for one in (content, written)))
