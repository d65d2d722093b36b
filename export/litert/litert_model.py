"""Asks a LiteRT file, by texts or by token ids: what a program on a phone does, in Python.

Nothing here imports TensorFlow: the LiteRT library and NumPy are enough (docs/mobile.md).
"""

import functools
import warnings

import numpy as np

from kbert.extras import require
from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.texts import text_batch
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.python.text_inputs import TextInputs
from kbert.tokenization.vocabulary import require_wordpiece

from .interpreter_pool import InterpreterPool


class LiteRTModel:
    """Runs a .tflite file, with the ids that kbert's tokenizer gives everywhere, made without TensorFlow.

    Each row goes to the signature of the shortest length that has room for it. Any number of threads may ask:
    see `InterpreterPool`.

    Args:
      path: the .tflite file.
      vocabulary: the `Vocabulary` beside it, with its casing.
      num_threads: threads of an interpreter.

    Attributes:
      path: as given.
      lengths: those of the file, ascending.

    Call arguments:
      texts: a text or a list of texts; `text_pairs` the second texts in the same form, or None.

    Returns:
      name -> float32 array of shape (texts, ...), for each output of the file; (...) for a single text.
      An output for every token has the file's longest length, with 0 behind the text. Of a text that is
      longer a UserWarning says that it was cut.

    Raises:
      ValueError: for an input that is not a text, an answer that is not finite, and texts where the
        vocabulary is none of WordPieces.
    """

    def __init__(self, path, vocabulary: BaseVocabulary, num_threads: int = 2):
        require("litert", f"{path}", "ai_edge_litert")
        from ai_edge_litert.interpreter import Interpreter

        self.path = path
        make = functools.partial(Interpreter, num_threads=num_threads)
        self._interpreters = InterpreterPool(make, path, num_threads)
        self._signatures = {  # length -> name
            inputs["input_ids"]["shape"][-1].item(): name
            for name, (inputs, _) in self._interpreters.details.items()
        }
        self.lengths = tuple(sorted(self._signatures))
        self._vocabulary = vocabulary

    @property
    def content(self) -> bytes:
        """The file's bytes, as they were read."""
        return self._interpreters.content

    @functools.cached_property
    def text_inputs(self):
        """The `TextInputs` in Python, for texts up to the longest length."""
        purpose = f"{self.path}: asking it with texts, without TensorFlow,"
        return TextInputs(require_wordpiece(self._vocabulary, purpose), self.lengths[-1])

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        rows, cut = self.text_inputs.rows(batch.texts, batch.pairs)
        if cut.any():
            warnings.warn(
                f"{self.path} reads {self.lengths[-1]} tokens: of longer texts what did not fit is left out.",
                stacklevel=2,
            )
        answers = self.answer_ids(rows)
        return {name: batch.answer(values) for name, values in answers.items()}

    def answer_ids(self, inputs: dict, positions=None, name: str = "texts[{}]") -> dict:
        """The file's outputs for rows of token ids: name -> float32 array of shape (rows, ...).

        Args:
          inputs: ENCODER_INPUTS, int32 arrays of shape (rows, any length), 0 behind the text; of a file for
            choices (rows, choices, any length).
          positions, name: as for `require_finite_answers`.

        Raises:
          ValueError: for another shape, a row without tokens or with more than the file's longest length, or
            an answer that is not finite.
        """
        self._check_shape(np.shape(inputs["input_ids"]))
        number = len(inputs["input_ids"])
        answers = {output: np.zeros((number, *shape), np.float32) for output, shape in self.outputs.items()}
        for row in range(number):
            features = {key: inputs[key][row : row + 1] for key in ENCODER_INPUTS}
            length = self.length_for(features["input_mask"])
            outputs = self.run({key: _fit_length(ids, length) for key, ids in features.items()}, length)
            for output, value in outputs.items():
                # An output for every token is shorter in a shorter signature.
                position: tuple = (row, *map(slice, value.shape[1:]))
                answers[output][position] = value[0]
        for values in answers.values():
            require_finite_answers(values, self.path, positions, name)
        return answers

    def length_for(self, mask) -> int:
        """The shortest length of the file with room for a row's tokens; `mask`: int (..., length)."""
        positions = np.flatnonzero(np.any(mask, axis=tuple(range(mask.ndim - 1))))
        if not positions.size:
            raise ValueError(
                "a row has no tokens: its input_mask is 0 everywhere; give it at least [CLS] [SEP]."
            )
        tokens = int(positions[-1]) + 1
        for length in self.lengths:
            if tokens <= length:
                return length
        raise ValueError(
            f"a row of {tokens} tokens has no room in {self.path}, whose longest length is "
            f"{self.lengths[-1]}; cut the text, or export a longer file."
        )

    @property
    def outputs(self) -> dict[str, tuple]:
        """name -> shape of an output for one row, of the longest length."""
        _, outputs = self._interpreters.details[self._signatures[self.lengths[-1]]]
        return {name: tuple(detail["shape"].tolist()[1:]) for name, detail in outputs.items()}

    def input_shape(self, length: int) -> tuple:
        """The shape of each input of the signature of a length, with its batch of 1."""
        inputs, _ = self._interpreters.details[self._signatures[length]]
        return tuple(inputs["input_ids"]["shape"].tolist())

    def run(self, inputs: dict, length: int) -> dict:
        """One call of the signature of a length, as it is: for measuring it."""
        with self._interpreters.borrowed() as runners:
            return runners[self._signatures[length]](**inputs)

    def _check_shape(self, shape):
        expected = self.input_shape(self.lengths[-1])[1:-1]
        if len(shape) < 2 or tuple(shape[1:-1]) != expected:
            names = ", ".join(["rows", *map(str, expected), "length"])
            raise ValueError(f"{self.path} takes input_ids of shape ({names}), received {tuple(shape)}.")


def _fit_length(ids, length):
    """int32 (..., length): cut, or filled up with 0."""
    cut = np.asarray(ids, np.int32)[..., :length]
    missing = length - cut.shape[-1]
    return np.pad(cut, [(0, 0)] * (cut.ndim - 1) + [(0, missing)]) if missing else cut
