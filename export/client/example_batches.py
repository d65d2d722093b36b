"""Examples to the arrays of requests."""

from collections.abc import Iterator

import numpy as np

from .model_signatures import ModelSignature
from .tensors import as_bytes


def batches(examples: Iterator[dict], signature: ModelSignature, batch_size: int) -> Iterator[list[dict]]:
    """Groups examples, in their order, into requests of at most `batch_size`.

    Lists of other lengths begin a new request, because a tensor has one shape.

    Raises:
        ValueError: an example has other inputs than the signature.
    """
    batch: list[dict] = []
    for example in examples:
        if set(example) != set(signature.columns):
            raise ValueError(
                f"an example with {', '.join(example) or 'nothing'}; expected "
                f"{', '.join(signature.columns)}, as the first has."
            )
        if batch and (len(batch) == batch_size or _lengths(example) != _lengths(batch[0])):
            yield batch
            batch = []
        batch.append(example)
    if batch:
        yield batch


def arrays_of(batch: list[dict], settings: dict, signature: ModelSignature) -> dict[str, np.ndarray]:
    """Returns the inputs of one request, in the dtypes of the signature; strings as bytes.

    Raises:
        ValueError: a value is of another kind, or does not fit its dtype.
    """
    inputs = {name: [one[name] for one in batch] for name in signature.columns} | settings
    return {name: _array(name, value, signature) for name, value in inputs.items()}


def _lengths(example: dict) -> dict[str, tuple]:
    return {name: np.shape(value) for name, value in example.items() if isinstance(value, list | np.ndarray)}


def _array(name: str, value, signature: ModelSignature) -> np.ndarray:
    wanted = signature.inputs[name].dtype
    if wanted is None:
        raise ValueError(f"input {name!r} of {signature} has a dtype that this client cannot send.")
    try:
        return _strings(value) if wanted.kind == "O" else _numbers(value, wanted)
    except ValueError as error:
        raise ValueError(f"input {name!r} of signature {signature.name!r} {error}") from error


def _strings(value) -> np.ndarray:
    """Every string is looked at here, so that both APIs refuse the same."""
    array = np.array(value, object)  # of NumPy's own dtypes for strings, each would cut NUL bytes off
    strings = np.empty(array.size, object)
    try:
        strings[:] = [as_bytes(one) for one in array.ravel().tolist()]
    except ValueError as error:
        raise ValueError(f"takes strings; {error}") from error
    return strings.reshape(array.shape)


def _numbers(value, wanted: np.dtype) -> np.ndarray:
    """Python's numbers have no dtype of their own: they take the input's, if they fit into it."""
    array = np.array(value)
    if not _fits(array, wanted):
        limits = np.iinfo(wanted) if wanted.kind in "iu" else None
        expected = f"; expected whole numbers from {limits.min} to {limits.max}" if limits else ""
        raise ValueError(f"takes {wanted}; received {array.ravel()[:3].tolist()}{expected}.")
    return array.astype(wanted)


def _fits(array: np.ndarray, wanted: np.dtype) -> bool:
    if array.dtype.kind in "iu" and wanted.kind in "iu":
        # NumPy calls these of the same kind, and would send the number without its upper bits.
        limits = np.iinfo(wanted)
        return bool(((array >= limits.min) & (array <= limits.max)).all())
    return array.dtype == wanted or np.can_cast(array.dtype, wanted, "same_kind")
