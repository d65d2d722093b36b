"""A tiny SavedModel with a signature for each way of asking, and for each way of going wrong."""

import tensorflow as tf

from tests.export.small_models import TEXT, TextLength


class AskedModel(TextLength):
    """What `TextLength` answers, and more."""

    @tf.function(input_signature=[TEXT])
    def work(self, text):
        """Multiplies matrices, as often as the first text says."""
        product = tf.eye(256)
        for _ in tf.range(tf.strings.to_number(text[0], tf.int32)):
            product = tf.matmul(product, product)
        return {"trace": tf.fill([tf.size(text)], tf.linalg.trace(product))}

    @tf.function(input_signature=[TEXT])
    def wait(self, text):
        """Makes a file `TEXT.runs` and ends when there is a file `TEXT`."""
        tf.io.write_file(text[0] + ".runs", "")
        rounds = 0  # an answer: a loop that gives none is left out of the graph
        while tf.size(tf.io.matching_files(text[0])) == 0:
            rounds += 1
        return {"rounds": tf.fill([tf.size(text)], rounds)}

    @tf.function(input_signature=[TEXT])
    def letters(self, text):
        """Letters padded to the longest text: an answer whose shape depends on the other texts."""
        return {"letters": tf.strings.unicode_split(text, "UTF-8").to_tensor("")}

    @tf.function(input_signature=[TEXT])
    def number(self, text):
        """The number that a text is; any other text is an error."""
        return {"number": tf.strings.to_number(text)}

    @tf.function(input_signature=[TEXT, tf.TensorSpec([], tf.int32, name="top_k")])
    def repeat(self, text, top_k):
        """Each text `top_k` times: one number for the whole request."""
        return {"texts": tf.tile(text[:, tf.newaxis], [1, top_k])}


def save_asked_model(folder, bias: float = 0.0) -> str:
    module = AskedModel(bias)
    signatures = {
        "serving_default": module.classify,
        "pair": module.same,
        "odd": module.odd_outputs,
        "weigh": module.weigh,
        "work": module.work,
        "wait": module.wait,
        "letters": module.letters,
        "number": module.number,
        "repeat": module.repeat,
    }
    tf.saved_model.save(module, str(folder), signatures)
    return str(folder)
