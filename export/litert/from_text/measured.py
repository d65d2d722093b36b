"""A LiteRT file that has been compared with Keras: what files that take texts are made of."""

from pathlib import Path
from typing import NamedTuple

from ..comparison import Answered
from ..litert_model import LiteRTModel


class Measured(NamedTuple):
    """A file and its answers.

    Args:
      path: the file, model_<quantization>.tflite.
      quantization: its name.
      model: the file, loaded.
      answered: what it says of the rows of the comparison.
      expected: what Keras says of them.
    """

    path: Path
    quantization: str
    model: LiteRTModel
    answered: Answered
    expected: Answered

    def beside(self, kind: str) -> Path:
        """<kind>_<quantization>.tflite in the same folder."""
        return self.path.with_name(f"{kind}_{self.quantization}.tflite")
