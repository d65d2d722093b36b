"""What a Python function inside a tf.data pipeline raised, out of TensorFlow's pages around it."""

import pytest
import tensorflow as tf
from kbert.pipeline_error import error_inside


def error_of(kind, sentence, in_graph):
    def raises(number):
        raise kind(sentence)

    def mapped(number):
        return tf.numpy_function(raises, [number], tf.int64)

    dataset = tf.data.Dataset.range(3).map(mapped, num_parallel_calls=2).prefetch(1)
    with pytest.raises(tf.errors.OpError) as error:
        if in_graph:
            batches = iter(dataset)
            tf.function(lambda: next(batches))()
        else:
            list(dataset)
    return error.value


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (ValueError, "5 texts do not fit: raise packed_rows."),
        (ValueError, "two\nlines, KeyError: among them"),
        (FileNotFoundError, "shard-00001 is gone"),
        (KeyError, "missing"),
    ],
)
def test_the_exception_comes_out_as_it_went_in(kind, sentence, in_graph):
    inside = error_inside(error_of(kind, sentence, in_graph))
    assert type(inside) is kind and inside.args[0].strip("'") == sentence


def test_other_errors_hold_none():
    assert error_inside(ValueError("odd: Traceback (most recent call last):\n")) is None
    with pytest.raises(tf.errors.OpError) as error:
        tf.reshape(tf.zeros(3), [2, 2])
    assert error_inside(error.value) is None
