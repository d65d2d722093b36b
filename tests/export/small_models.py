"""Tiny SavedModels: good ones, one that the op gate refuses, and one that fails in a session."""

import keras
import pytest
import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string, name="text")


class TextLength(tf.Module):
    """Text -> probabilities of short and long, and the label; versions differ in their bias."""

    def __init__(self, bias: float = 0.0):
        super().__init__()
        self.bias = tf.Variable(bias)

    @tf.function(input_signature=[TEXT])
    def classify(self, text):
        length = tf.cast(tf.strings.length(text), tf.float32) + self.bias
        long = tf.sigmoid(length - 8.0)
        probabilities = tf.stack([1.0 - long, long], axis=-1)
        label = tf.where(long > 0.5, "long", "short")
        return {"probabilities": probabilities, "label": label}

    @tf.function(input_signature=[TEXT, tf.TensorSpec([None], tf.string, name="text_pair")])
    def same(self, text, text_pair):
        return {"same": tf.equal(text, text_pair)}

    @tf.function(input_signature=[TEXT])
    def odd_outputs(self, text):
        length = tf.cast(tf.strings.length(text), tf.float32)
        return {
            "raw_bytes": tf.strings.join([text, b"\xff"]),
            "not_a_number": length / 0.0,
            "labels": tf.constant(["short", "long", "other"]),
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, name="ids"),
            tf.TensorSpec([None, None], tf.float32, name="weights"),
        ]
    )
    def weigh(self, ids, weights):
        return {"half": tf.cast(weights, tf.float16), "sum": tf.cast(ids, tf.float32) * weights}


def save_with_trimmer(folder: str) -> str:
    """TF-Text's trimmer inside a function: fine in Python, refused by every stock server."""

    tf_text = pytest.importorskip("tensorflow_text")

    class Trimmed(tf.Module):
        @tf.function(input_signature=[TEXT])
        def trim(self, text):
            tokens = tf_text.WhitespaceTokenizer().tokenize(text)
            trimmed = tf_text.RoundRobinTrimmer(max_seq_length=2).trim([tokens])[0]
            return {"tokens": trimmed.to_tensor()}

    module = Trimmed()
    tf.saved_model.save(module, str(folder), {"serving_default": module.trim})
    return str(folder)


def save_with_keras_attached(folder: str) -> str:
    """Loads and answers in Python; its variables are lost in a session."""

    class Attached(tf.Module):
        def __init__(self):
            super().__init__()
            inputs = keras.Input([4])
            self.model = keras.Model(inputs, keras.layers.Dense(2)(inputs))

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def call(self, x):
            return {"logits": self.model(x)}

    module = Attached()
    tf.saved_model.save(module, str(folder), {"serving_default": module.call})
    return str(folder)
