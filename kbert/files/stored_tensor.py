"""A tensor in a file: shape and dtype are known at once, the numbers are read when asked for.

Such a file stays the same file while it is read, or is refused.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

# Types whose numbers can all be represented exactly as float32.
_EXACT = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a checkpoint file that has not been read yet.

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

    def reshaped(self, shape: tuple[int, ...]) -> "StoredTensor":
        """The same numbers in the same order in another shape."""
        return StoredTensor(shape, self.dtype, lambda: np.asarray(self.read()).reshape(shape))

    def rows(self, start: int, stop: int | None = None) -> "StoredTensor":
        """The rows from `start` on, as far as `stop`, counted as in a slice."""
        number = len(range(*slice(start, stop).indices(self.shape[0])))
        return StoredTensor((number, *self.shape[1:]), self.dtype, lambda: self.read()[start:stop])

    def after_zeros(self, number: int) -> "StoredTensor":
        """The same rows with `number` rows of zeros in front."""
        zeros = ((number, 0), *((0, 0) for _ in self.shape[1:]))
        shape = (self.shape[0] + number, *self.shape[1:])
        return StoredTensor(shape, self.dtype, lambda: np.pad(self.read(), zeros))

    def as_float32(self, transposed: bool = False, what: str | None = None) -> "StoredTensor":
        """The same numbers as float32 (float64 is rounded).

        Args:
          transposed: whether the two axes are exchanged.
          what: file and name, for numbers from outside: reading them raises ValueError for NaN, infinity, and
            what is too large for float32.
        """

        def read():
            array = np.asarray(self.read())
            with np.errstate(over="ignore"):  # reported below, or by who made it
                numbers = array.astype(np.float32, copy=False)
            if what:
                _require_finite(array, numbers, what)
            return np.array(numbers.T if transposed else numbers, order="C", copy=None)

        return StoredTensor(self.shape[::-1] if transposed else self.shape, "float32", read)


def _require_finite(array, numbers, what):
    """`numbers` are those of `array` as float32."""
    finite = np.isfinite(numbers)
    if finite.all():
        return
    index = np.unravel_index(int(np.argmin(finite)), finite.shape)
    at = f" at {tuple(map(int, index))}" if index else ""
    raise ValueError(
        f"{what} is {array[index]}{at}; every weight must be a finite float32 number: download the file "
        "again, or take an earlier checkpoint."
    )


def stacked(tensors: list[StoredTensor]) -> StoredTensor:
    """The rows of tensors of one dtype, one below the other."""
    first = tensors[0]
    shape = (sum(tensor.shape[0] for tensor in tensors), *first.shape[1:])
    return StoredTensor(shape, first.dtype, lambda: np.concatenate([tensor.read() for tensor in tensors]))


def stored_array(array: np.ndarray) -> StoredTensor:
    """An array in memory as a `StoredTensor`."""
    return StoredTensor(tuple(array.shape), array.dtype.name, lambda: array)


def stored_variable(variable) -> StoredTensor:
    """A variable, of Keras or TensorFlow, as a `StoredTensor`: its value when it is read."""
    dtype = getattr(variable.dtype, "name", variable.dtype)  # a Keras dtype is itself a name
    return StoredTensor(tuple(variable.shape), dtype, variable.numpy)


def while_unchanged(path: Path) -> Callable[[Callable], Callable]:
    """A decorator for functions that read from a file as it is now.

    Args:
      path: the file. Its size and the time of its last change are kept.

    Returns:
      The decorator. The function that it makes raises ValueError when the file has changed or is gone, before
      the reading or during it: numbers of two files are never mixed.
    """
    first = _stamp(path)

    def require():
        if _stamp(path) != first:
            raise ValueError(f"{path} was changed while it was read; try again when it stays as it is.")

    def decorate(read):
        @functools.wraps(read)
        def checked(*arguments):
            require()
            value = read(*arguments)
            require()
            return value

        return checked

    return decorate


def _stamp(path):
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns
