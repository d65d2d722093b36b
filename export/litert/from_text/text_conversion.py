"""A task's signature of token ids, with the tokenizer in front -> a .tflite flatbuffer that takes texts."""

import keras
import tensorflow as tf

from kbert.tasks.signatures.signature import Signature

from ..conversion import converted, numbers_of
from ..signature_names import ONE_LENGTH
from .tokenizer_inside import TokenizerInside


def convert_with_tokenizer(
    signature: Signature, inputs: tuple[str, ...], tokenizer: TokenizerInside, quantization: str, length: int
) -> bytes:
    """Converts to a file that takes texts, and needs TF-Text's ops.

    Args:
      signature: as for `convert_to_litert`.
      inputs: the names of the texts that make a row, one or two.
      tokenizer: makes rows of them, of `length`.
      quantization: as for `convert_to_litert`; the tokenizer's tables stay as they are.
      length: of a row.

    Returns:
      The file's bytes. Its signature `serving_default` takes a string [1] of each name, and gives the float32
      outputs of `signature`.
    """
    numbers = numbers_of(signature)

    def answer(text, text_pair=None):
        rows = tokenizer(text, text_pair)
        # The encoder's ops are for a fixed shape; what the tokenizer gives has one for people only.
        return numbers(**{name: tf.reshape(value, (1, length)) for name, value in rows.items()})

    def write(path):
        archive = keras.export.ExportArchive()
        specs = [tf.TensorSpec((1,), tf.string, name=name) for name in inputs]
        # A function with an argument that is not given cannot be stored.
        endpoint = answer if len(inputs) == 2 else lambda text: answer(text)
        archive.add_endpoint(ONE_LENGTH, endpoint, specs)
        archive.write_out(str(path), verbose=False)
        return [ONE_LENGTH]

    return converted(write, quantization, custom_ops=True)
