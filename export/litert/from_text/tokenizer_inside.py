"""Files that take texts: the tokenizer with the ops that TF-Text has for LiteRT, conversion, and asking.

The exact rules of kbert/tokenization need ops that LiteRT knows neither by itself nor from TF-Text. TF-Text's
FastBertTokenizer folds compatibility characters and case (NFKC), and makes controls spaces.
"""

import warnings

import numpy as np
import tensorflow as tf

from kbert.inference.texts import text_batch
from kbert.tasks.signatures.signature import Signature
from kbert.tokenization.segment_packer import SegmentPacker
from kbert.tokenization.text_ops import import_tf_text
from kbert.tokenization.vocabulary import Vocabulary

from ..conversion import ONE_LENGTH, converted, float_outputs
from ..interpreter_pool import InterpreterPool

# What a file with `TokenizerInside` needs beside LiteRT's own ops; TF-Text's kernels for LiteRT have them.
CUSTOM_OPS = ("FastBertNormalize", "FastWordpieceTokenizeWithOffsets", "RaggedTensorToTensor")
# TF-Text's functions that an app calls to know these ops; they have these names in C++, too.
REGISTRARS = ("AddFastBertNormalize", "AddFastWordpieceTokenize", "AddRaggedTensorToTensor")


class TokenizerInside:
    """Tokenizes and packs single texts or pairs with ops that convert to LiteRT.

    Args:
      vocabulary: the `Vocabulary` with its rules; see `requests.check_tokenizer_inside`.
      max_seq_length: the length of the rows.

    Call arguments:
      text: string tensor of shape [batch].
      text_pair: the second texts, in the same form, or None.

    Returns:
      dict of int32 tensors of shape [batch, max_seq_length]: input_ids, input_mask, segment_ids.
    """

    def __init__(self, vocabulary: Vocabulary, max_seq_length: int):
        self.max_seq_length = max_seq_length
        tf_text = import_tf_text()
        if tf_text is None:
            raise ValueError(
                "a file with the tokenizer inside needs ops of TF-Text, which cannot be imported: install it "
                "or leave out --tokenizer_inside."
            )
        self._tokenizer = tf_text.FastBertTokenizer(
            vocab=list(vocabulary.tokens),
            token_out_type=tf.int32,
            unknown_token=vocabulary.special_tokens.unk,
            # Its limit is in bytes, that of the rules in characters; of ASCII that is the same.
            max_bytes_per_word=vocabulary.rules.max_input_chars_per_word,
            lower_case_nfd_strip_accents=vocabulary.do_lower_case,
        )
        self._packer = SegmentPacker(vocabulary, max_seq_length)

    def __call__(self, text, text_pair=None) -> dict:
        second = None if text_pair is None else self._tokenizer.tokenize(text_pair)
        return self._packer(self._tokenizer.tokenize(text), second)


def convert_with_tokenizer(
    signature: Signature, inputs: tuple[str, ...], tokenizer: TokenizerInside, quantization: str
) -> bytes:
    """Converts to a file that takes texts, and needs TF-Text's ops.

    Args:
      signature: as for `convert_to_litert`.
      inputs: the names of the texts that make a row, one or two.
      tokenizer: makes rows of them.
      quantization: as for `convert_to_litert`; the tokenizer's tables stay as they are.

    Returns:
      The file's bytes. Its signature `serving_default` takes a string [1] of each name, and gives the float32
      outputs of `signature`.
    """
    numbers = float_outputs(signature)

    def answer(text, text_pair=None):
        rows = tokenizer(text, text_pair)
        # The encoder's ops are for a fixed shape; what the tokenizer gives has one for people only.
        shape = (1, tokenizer.max_seq_length)
        return numbers(**{name: tf.reshape(value, shape) for name, value in rows.items()})

    specs = [tf.TensorSpec((1,), tf.string, name=name) for name in inputs]
    # A function with an argument that is not given cannot be stored.
    endpoint = answer if len(inputs) == 2 else lambda text: answer(text)
    return converted({ONE_LENGTH: (endpoint, specs)}, quantization, custom_ops=True)


class TextLiteRTModel:
    """Runs a .tflite file of `convert_with_tokenizer`, with the kernels that TF-Text has for it.

    Args:
      path: the file.
      num_threads: threads of an interpreter.

    Attributes:
      inputs: the names of the texts that it takes, one or two.
      outputs: the names of the outputs.

    Call arguments:
      texts: a text or a list of texts; `text_pairs` the second texts in the same form, or None.

    Returns:
      name -> float32 array of shape (texts, ...); (...) for a single text.

    Raises:
      ValueError: for an input that is not a text, or pairs where the file takes single texts or the reverse.
    """

    def __init__(self, path, num_threads: int = 2):
        from tensorflow.lite.python import interpreter
        from tensorflow_text import tflite_registrar

        def make(model_content):
            with warnings.catch_warnings():
                # It is said to leave TensorFlow. ai-edge-litert has one as well, but is not built together
                # with TF-Text's kernels.
                warnings.filterwarnings("ignore", message="[^.]*tf.lite.Interpreter is deprecated")
                return interpreter.InterpreterWithCustomOps(
                    model_content=model_content,
                    custom_op_registerers=[getattr(tflite_registrar, name) for name in REGISTRARS],
                    num_threads=num_threads,
                )

        self.path, self._interpreters = path, InterpreterPool(make, path, num_threads)
        self.inputs, self.outputs = map(tuple, map(sorted, self._interpreters.details[ONE_LENGTH]))

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        columns = [batch.texts] if batch.pairs is None else [batch.texts, batch.pairs]
        if len(columns) != len(self.inputs):
            raise ValueError(
                f"{self.path} takes {' and '.join(self.inputs)}, received {len(columns)} of them."
            )
        rows = [[np.array([text.encode()]) for text in row] for row in zip(*columns, strict=True)]
        with self._interpreters.borrowed() as runners:
            answers = [runners[ONE_LENGTH](**dict(zip(self.inputs, row, strict=True))) for row in rows]
        return {
            name: batch.answer(np.concatenate([outputs[name] for outputs in answers]))
            for name in self.outputs
        }
