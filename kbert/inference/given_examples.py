"""What a caller of `LoadedModel.predict` gives -> examples, dicts with the inputs of a task."""

import contextlib
from collections.abc import Iterable, Mapping, Set

_PAIR = ("text", "text_pair")


def examples_of(given, inputs: tuple[str, ...]) -> tuple[list[dict], bool]:
    """The examples, and whether a single one was given, not in a list.

    Args:
      given: an example: a text; a tuple with the task's inputs in order, such as the texts of a pair, or a
        question and its context; or a dict of them. Or a list, or another iterable, of such examples.
      inputs: the names of the task's inputs in order.

    Raises:
      ValueError: when something else is given; the message names its place.
    """
    if isinstance(given, str | tuple | Mapping):
        return [_example(given, inputs, "the example")], True
    listed = None
    # Bytes would be taken apart into numbers, and a set has no order.
    if isinstance(given, Iterable) and not isinstance(given, Set | bytes | bytearray):
        with contextlib.suppress(TypeError):  # a NumPy array of shape () is Iterable, but has nothing in it
            listed = list(given)
    if listed is None:
        raise ValueError(f"received {_kind(given)}; expected {_expected(inputs)}, or a list of such.")
    return [_example(one, inputs, f"example {place}") for place, one in enumerate(listed)], False


def _example(one, inputs, place):
    if isinstance(one, Mapping):
        return dict(one)
    if isinstance(one, str):
        return {inputs[0]: str(one)}
    if isinstance(one, tuple):
        names = inputs if len(one) == len(inputs) else _PAIR
        if len(one) == len(names):
            return dict(zip(names, one, strict=True))
    raise ValueError(f"{place} is {_kind(one)}; expected {_expected(inputs)}.")


def _expected(inputs):
    if len(inputs) == 1:
        return "a text (str), a pair of texts (tuple) or a dict with the key " + repr(inputs[0])
    return f"a tuple of {' and '.join(inputs)}, or a dict with these keys"


def _kind(value):
    return type(value).__name__ if value is None else f"{type(value).__name__} ({value!r:.40})"
