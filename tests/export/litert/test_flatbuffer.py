"""The ops of a file are read from its graphs; others than built-in ones are refused by name."""

import pytest
import tensorflow as tf

from export.litert.conversion import convert_to_litert
from export.litert.flatbuffer import checked_ops, ops_of
from kbert.tasks.signatures.signature import Signature, ids_inputs


def converted(function, ops):
    module = tf.Module()
    module.call = tf.function(function, input_signature=[tf.TensorSpec([1, 4], tf.float32)])
    concrete = module.call.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    converter.target_spec.supported_ops = ops
    return converter.convert()


def test_the_ops_of_a_small_file():
    content = converted(lambda x: tf.tanh(tf.tanh(x)) * x, [tf.lite.OpsSet.TFLITE_BUILTINS])
    assert ops_of(content) == {"MUL": 1, "TANH": 2} == checked_ops(content, "a")


def test_an_op_of_tensorflow_is_refused():
    both = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    content = converted(lambda x: tf.tanh(tf.linalg.det(tf.reshape(x, (2, 2)))), both)
    assert ops_of(content) == {"CUSTOM FlexMatrixDeterminant": 1, "RESHAPE": 1, "TANH": 1}
    with pytest.raises(ValueError, match="a.tflite needs ops that .* have: FlexMatrixDeterminant; nothing"):
        checked_ops(content, "a.tflite")
    assert checked_ops(content, "a", ["FlexMatrixDeterminant", "Other"]) == ops_of(content)


def test_the_converter_allows_no_other_ops():
    def answer(input_ids, input_mask, segment_ids):
        return {"logits": tf.linalg.det(tf.reshape(tf.cast(input_ids, tf.float32), (2, 2)))}

    with pytest.raises(ValueError) as error:
        convert_to_litert(Signature(ids_inputs(), answer), [4], "float32")
    assert str(error.value) == (
        "the model needs ops that the stock LiteRT library does not have: MatrixDeterminant; "
        "nothing was exported."
    )
