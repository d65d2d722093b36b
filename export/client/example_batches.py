"""Examples to the arrays of requests."""

from collections.abc import Iterator

import numpy as np

from .model_signatures import ModelSignature


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
    """Returns the inputs of one request, in the dtypes of the signature.

    Raises:
        ValueError: a value is of another kind.
    """
    inputs = {name: _column([one[name] for one in batch]) for name in signature.columns}
    inputs |= {name: np.array(value) for name, value in settings.items()}
    return {name: _of_dtype(name, array, signature) for name, array in inputs.items()}


def _lengths(example: dict) -> dict[str, tuple]:
    return {name: np.shape(value) for name, value in example.items() if isinstance(value, list | np.ndarray)}


def _column(values: list) -> np.ndarray:
    if isinstance(values[0], str | bytes):
        column = np.empty(len(values), object)  # np.array would cut NUL bytes off
        column[:] = values
        return column
    return np.array(values, object) if _holds_strings(values[0]) else np.array(values)


def _holds_strings(value) -> bool:
    while isinstance(value, list):
        value = value[0] if value else None
    return isinstance(value, str | bytes)


def _of_dtype(name: str, array: np.ndarray, signature: ModelSignature) -> np.ndarray:
    """Python's numbers have no dtype of their own: they take the input's."""
    wanted = signature.inputs[name].dtype
    if wanted is None:
        raise ValueError(f"input {name!r} of {signature} has a dtype that this client cannot send.")
    sends_strings = array.dtype.kind in "OSU"
    if wanted == array.dtype or (wanted.kind == "O" and sends_strings):
        return array
    if wanted.kind == "O" or sends_strings or not np.can_cast(array.dtype, wanted, "same_kind"):
        kind = "strings" if wanted.kind == "O" else str(wanted)
        raise ValueError(
            f"input {name!r} of signature {signature.name!r} takes {kind}; received "
            f"{array.ravel()[:3].tolist()}."
        )
    return array.astype(wanted)
