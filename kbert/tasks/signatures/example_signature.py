"""Signatures that take serialized `tf.Example`s, for TensorFlow Serving's Classify and Regress.

The server asks for exactly one string input named `inputs`; for Classify of the outputs `classes` and
`scores`, and for Regress of the output `outputs`, and nothing else.
Reference: tensorflow/serving, servables/tensorflow/classifier.cc and regressor.cc.
"""

from collections.abc import Callable

from kbert.late_tensorflow import tf
from kbert.tasks.signatures.signature import Signature
from kbert.tasks.signatures.token_id_checks import assertion

CLASSIFY, REGRESS = "classify", "regress"  # the names of these signatures
_EXAMPLES = {"inputs": ("string", (None,))}


def classify_signature(texts: Signature, classes: "Callable[[dict, dict], tf.Tensor]") -> Signature:
    """A signature for Classify, from one that takes texts and answers with `probabilities` (batch, n).

    Args:
      texts: the signature; each of its inputs is a feature of an Example, of the same name.
      classes: function from its outputs and its inputs to string (batch, n), what each probability is of.

    Returns:
      A signature from `inputs`, string (batch,), to `classes`, string (batch, n), and `scores`, float32
      (batch, n).
    """

    def answer(inputs):
        parsed = parse_texts(inputs, texts)
        outputs = texts.function(**parsed)
        return {"classes": classes(outputs, parsed), "scores": outputs["probabilities"]}

    return Signature(_EXAMPLES, answer, texts.inputs)


def regress_signature(texts: Signature, output: str) -> Signature:
    """A signature for Regress, as `classify_signature`: to `outputs`, float32 (batch,), the output named."""

    def answer(inputs):
        return {"outputs": texts.function(**parse_texts(inputs, texts))[output]}

    return Signature(_EXAMPLES, answer, texts.inputs)


def parse_texts(examples, texts: Signature) -> dict:
    """Serialized Examples, string (batch,) -> the inputs of a signature that takes texts.

    An input of shape (batch,) is a feature of one string; one of shape (batch, n) of n strings. Where n is
    left open, all Examples of a request have as many.

    Raises:
      tf.errors.InvalidArgumentError: when the graph runs and something is no Example, lacks a feature, or has
        another number of strings.
    """
    features = {name: _feature(shape) for name, (_, shape) in texts.inputs.items()}
    parsed = tf.io.parse_example(examples, features)
    return {name: _dense(name, value) for name, value in parsed.items()}


def _feature(shape):
    if None in shape[1:]:
        return tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int32)
    return tf.io.FixedLenFeature(shape[1:], tf.string)


def _dense(name, value):
    if not isinstance(value, tf.RaggedTensor):
        return value
    lengths = value.row_lengths()
    same = tf.reduce_all(tf.logical_and(lengths > 0, lengths == lengths[:1]))
    data = [f"the Examples of a request must have equally many {name}, at least one; received", lengths]
    with tf.control_dependencies([assertion(same, data)]):
        return tf.identity(value.to_tensor())
