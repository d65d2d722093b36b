"""Which records each of several input pipelines reads. Standard library only.

Letters: N records, n pipelines. Pipeline i has the records from i*N//n to (i+1)*N//n, counted through the
shards in their order: whole shards and parts of at most two, or parts of one where there are fewer shards
than pipelines. So shares differ by one record at most, and every record is in exactly one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kbert.manifest import Shard


class Share(NamedTuple):
    """One pipeline of several; a `tf.distribute.InputContext` has the same fields and does as well."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0


class RecordRange(NamedTuple):
    """Records `skip` to `skip + take` of one file; `take` is -1 for all to the end of the file."""

    file: str
    skip: int
    take: int


WHOLE = Share()


def require_share(share, batch_size: int):
    """Raises ValueError for a pipeline that there is not, or a batch that cannot be shared out evenly."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    if not 0 <= index < number:
        raise ValueError(
            f"input_pipeline_id={index} must lie between 0 and num_input_pipelines - 1 = {number - 1}."
        )
    if batch_size % number:
        raise ValueError(
            f"a global batch of {batch_size} examples does not divide by {number} input pipelines; choose a "
            f"multiple of {number}."
        )


def record_range(num_examples: int, share=WHOLE) -> tuple[int, int]:
    """(first record, the one after the last) of a share."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    return index * num_examples // number, (index + 1) * num_examples // number


def record_ranges_of(shards: Sequence[Shard], start: int, end: int) -> list[RecordRange]:
    """The parts of files that hold records `start` to `end`, counted through all shards."""
    found, first = [], 0
    for shard in shards:
        skip, stop = max(start - first, 0), min(end - first, shard.num_examples)
        if skip < stop:
            found.append(RecordRange(shard.file, skip, -1 if stop == shard.num_examples else stop - skip))
        first += shard.num_examples
    return found
