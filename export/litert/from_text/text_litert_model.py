"""Asks a LiteRT file that has the tokenizer inside, with the kernels that TF-Text has for it."""

import warnings

import numpy as np

from kbert.inference.texts import text_batch

from ..conversion import ONE_LENGTH

# TF-Text's functions that an app calls to know the file's ops; they have these names in C++, too.
REGISTRARS = ("AddFastBertNormalize", "AddFastWordpieceTokenize", "AddRaggedTensorToTensor")


class TextLiteRTModel:
    """Runs a .tflite file of `convert_with_tokenizer`.

    Args:
      path: the file.
      num_threads: threads of the interpreter.

    Attributes:
      inputs: the names of the texts that it takes, one or two.

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

        with warnings.catch_warnings():
            # It is said to leave TensorFlow. ai-edge-litert has one as well, but is not built together with
            # TF-Text's kernels.
            warnings.filterwarnings("ignore", message="[^.]*tf.lite.Interpreter is deprecated")
            self._interpreter = interpreter.InterpreterWithCustomOps(
                model_path=str(path),
                custom_op_registerers=[getattr(tflite_registrar, name) for name in REGISTRARS],
                num_threads=num_threads,
            )
        self._runner = self._interpreter.get_signature_runner(ONE_LENGTH)
        self.path, self.inputs = path, tuple(sorted(self._runner.get_input_details()))

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        rows = [batch.texts] if batch.pairs is None else [batch.texts, batch.pairs]
        if len(rows) != len(self.inputs):
            raise ValueError(f"{self.path} takes {' and '.join(self.inputs)}, received {len(rows)} of them.")
        answers = [self._ask(row) for row in zip(*rows, strict=True)]
        return {name: batch.answer(np.stack([one[name] for one in answers])) for name in self.outputs}

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(sorted(self._runner.get_output_details()))

    def _ask(self, row) -> dict:
        given = zip(self.inputs, row, strict=True)
        found = self._runner(**{name: np.array([text.encode("utf-8")]) for name, text in given})
        return {name: value[0] for name, value in found.items()}
