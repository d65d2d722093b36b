"""A tensor in a file: its shape and dtype at once, its numbers when asked."""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

# Every number of these is exactly a float32.
_EXACT = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class StoredTensor:
    """A named place in a checkpoint file.

    Args:
      shape: the tensor's shape, as stored.
      dtype: NumPy's name of the stored type, for example "float32" or "bfloat16".
      read: function without arguments that gives the array, of that shape and dtype.
    """

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], np.ndarray]

    @property
    def is_float(self) -> bool:
        return self.dtype in _EXACT or self.dtype == "float64"

    def as_float32(self, transposed: bool = False) -> "StoredTensor":
        """The same numbers as float32 (float64 is rounded), with the two axes exchanged if asked."""

        def read():
            array = np.asarray(self.read()).astype(np.float32, copy=False)
            return np.array(array.T if transposed else array, order="C", copy=None)

        return StoredTensor(self.shape[::-1] if transposed else self.shape, "float32", read)


def stored_array(array: np.ndarray) -> StoredTensor:
    """An array in memory as a `StoredTensor`."""
    return StoredTensor(tuple(array.shape), array.dtype.name, lambda: array)
