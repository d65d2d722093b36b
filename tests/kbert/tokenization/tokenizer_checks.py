"""A tokenizer in a graph, and in a SavedModel, loaded as a server does."""

import functools

import numpy as np
import tensorflow as tf

from export.gate.op_gate import check_servable
from export.gate.saved_model_session import SavedModelSession
from export.saved_model import write_saved_model


@functools.cache
def traced(tokenizer):
    """`with_offsets` as one graph for batches of any size."""
    return tf.function(tokenizer.with_offsets, [tf.TensorSpec([None], tf.string)])


def session_pieces(tokenizer, texts, folder):
    """(the parts of `OffsetTokens` as lists, what `check_servable` says); asked with another batch first.

    A call and `tokenize_words` are in the same function, so the tokenizer is called three times.
    """

    def pieces(text):
        rows = tokenizer.with_offsets(text)
        with tf.control_dependencies(
            [
                tf.debugging.assert_equal(tokenizer(text).flat_values, rows.ids.flat_values),
                tf.debugging.assert_equal(
                    tf.size(tokenizer.tokenize_words(text).row_splits), tf.size(rows.ids.row_splits)
                ),
            ]
        ):
            parts = {name: values.to_tensor(-1) for name, values in rows._asdict().items()}
            return parts | {"lengths": rows.ids.row_lengths()}

    write_saved_model({"serving_default": (pieces, [tf.TensorSpec([None], tf.string, name="text")])}, folder)
    session = SavedModelSession(folder)
    session.run("serving_default", {"text": np.array([b"one"], object)})
    answer = session.run("serving_default", {"text": np.array([text.encode() for text in texts], object)})
    lengths = answer.pop("lengths")
    lists = [
        [row[:length].tolist() for row, length in zip(answer[name], lengths, strict=True)]
        for name in ("ids", "starts", "ends", "words")
    ]
    return lists, check_servable(str(folder))
