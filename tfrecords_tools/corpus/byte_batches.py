"""Many texts -> lists of a bounded size."""

from collections.abc import Callable, Iterable, Iterator


def byte_batches(texts: Iterable, num_bytes: int, size: Callable = len) -> Iterator[list]:
    """Yields the texts in order, in lists that are closed as soon as they hold `num_bytes`.

    Args:
      texts: bytes, or whatever `size` can measure.
      num_bytes: a list that holds at least this many bytes is full. Its last text may exceed the number.
      size: a function that returns the number of bytes of one text.
    """
    batch, held = [], 0
    for text in texts:
        batch.append(text)
        held += size(text)
        if held >= num_bytes:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
