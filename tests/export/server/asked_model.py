"""A tiny SavedModel with a signature for each way of asking, and for each way of going wrong."""

import tensorflow as tf

from tests.export.small_models import TEXT, TextLength

EXAMPLES = tf.TensorSpec([None], tf.string, name="inputs")


class AskedModel(TextLength):
    """What `TextLength` answers, and more."""

    @tf.function(input_signature=[EXAMPLES])
    def classify_examples(self, inputs):
        answer = self.classify(_parsed_text(inputs))
        classes = tf.tile(tf.constant([["short", "long"]]), [tf.size(inputs), 1])
        return {"classes": classes, "scores": answer["probabilities"]}

    @tf.function(input_signature=[EXAMPLES])
    def regress_examples(self, inputs):
        return {"outputs": tf.cast(tf.strings.length(_parsed_text(inputs)), tf.float32) + self.bias}

    @tf.function(input_signature=[TEXT])
    def work(self, text):
        """Multiplies matrices, as often as the first text says."""
        product = tf.eye(256)
        for _ in tf.range(tf.strings.to_number(text[0], tf.int32)):
            product = tf.matmul(product, product)
        return {"trace": tf.fill([tf.size(text)], tf.linalg.trace(product))}

    @tf.function(input_signature=[TEXT])
    def letters(self, text):
        """Letters padded to the longest text: an answer whose shape depends on the other texts."""
        return {"letters": tf.strings.unicode_split(text, "UTF-8").to_tensor("")}

    @tf.function(input_signature=[TEXT])
    def number(self, text):
        """The number that a text is; any other text is an error."""
        return {"number": tf.strings.to_number(text)}


def save_asked_model(folder, bias: float = 0.0) -> str:
    module = AskedModel(bias)
    signatures = {
        "serving_default": module.classify,
        "pair": module.same,
        "odd": module.odd_outputs,
        "weigh": module.weigh,
        "classify": module.classify_examples,
        "regress": module.regress_examples,
        "work": module.work,
        "letters": module.letters,
        "number": module.number,
    }
    tf.saved_model.save(module, str(folder), signatures)
    return str(folder)


def _parsed_text(examples):
    return tf.io.parse_example(examples, {"text": tf.io.FixedLenFeature([], tf.string)})["text"]
