"""Which records each of several input pipelines reads. Standard library only.

Letters: N records, n pipelines. Pipeline i reads the records from i*N//n to (i+1)*N//n - 1, counted over all
shards in their order. So the sizes of shares differ by at most one record, and every record is in exactly one
share. Of at most two shards a pipeline reads only a part.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kbert.manifest import Shard


class Share(NamedTuple):
    """One of several pipelines; a `tf.distribute.InputContext`, with the same fields, can be used instead."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0


class RecordRange(NamedTuple):
    """The `take` records of one file after the first `skip`; -1 means all up to the end of the file."""

    file: str
    skip: int
    take: int


WHOLE = Share()


def require_share(share, batch_size: int):
    """Raises ValueError when the pipeline does not exist, or a batch cannot be divided evenly."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    if not 0 <= index < number:
        raise ValueError(
            f"input_pipeline_id={index} must lie between 0 and num_input_pipelines - 1 = {number - 1}."
        )
    if batch_size % number:
        raise ValueError(
            f"a global batch of {batch_size} examples is not divisible by {number} input pipelines; choose a "
            f"multiple of {number}."
        )


def record_range(num_examples: int, share=WHOLE) -> tuple[int, int]:
    """(first record, the one after the last) of a share."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    return index * num_examples // number, (index + 1) * num_examples // number


def record_ranges_of(shards: Sequence[Shard], start: int, end: int) -> list[RecordRange]:
    """The parts of files that hold the records from `start` to `end` - 1, counted over all shards."""
    found, first = [], 0
    for shard in shards:
        skip, stop = max(start - first, 0), min(end - first, shard.num_examples)
        if skip < stop:
            found.append(RecordRange(shard.file, skip, -1 if stop == shard.num_examples else stop - skip))
        first += shard.num_examples
    return found
