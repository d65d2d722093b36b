"""Holds out a share of labelled examples for evaluation: by label, by seed, and duplicates on one side."""

import collections
import hashlib
from collections.abc import Sequence

from kbert.input_pipelines.labelled_files import examples_fingerprint

_FAR_OFF = 0.25  # of the share that was asked for
_TOGETHER = (
    "those of equal texts, of a document or of a query stay together, and one of each label with the "
    "training; give a larger share, or a dev_file"
)


def held_out_indices(
    groups: Sequence[str], strata: Sequence[str], fraction: float, seed: int, stay: int = 1
) -> list[int]:
    """Which examples are held out: ascending indices.

    The answer depends on the examples alone, not on their order: groups follow each other by the SHA-256 of
    seed and group. From every stratum about `fraction` is taken, less than one example more or less where no
    group has two; the whole is the rounded share of all examples, dealt by largest remainders. Of a
    stratum at least `stay` examples are not held out. Fewer come out where a group is larger than what is
    left of its share, see `far_fewer`.

    Args:
      groups: for each example a text; examples of the same text stay together.
      strata: for each example what is spread evenly, such as its label. A group of several strata belongs to
        its most frequent one.
      fraction: the share to hold out, between 0 and 1.
      seed: another seed holds out others.
      stay: 1 for a split whose other part has to show every stratum too; 0 where that part is not used.

    Raises:
      ValueError: when nothing would be held out.
    """
    members = collections.defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    by_stratum = collections.defaultdict(list)
    for group in sorted(members, key=lambda group: _order(group, seed)):
        counts = collections.Counter(strata[index] for index in members[group])
        by_stratum[min(counts, key=lambda name: (-counts[name], name))].append(members[group])
    sizes = {name: sum(map(len, group)) for name, group in by_stratum.items()}
    chosen: list[int] = []
    for name, quota in _quotas(sizes, fraction, stay).items():
        for group in by_stratum[name]:
            if len(group) <= quota:
                chosen += group
                quota -= len(group)
    if not chosen:
        raise ValueError(
            f"dev_split={fraction} of {len(groups)} examples in {len(members)} groups holds out none: "
            f"{_TOGETHER}."
        )
    return sorted(chosen)


def with_reversed(pairs: Sequence[tuple], groups: Sequence[int]) -> list[int]:
    """The groups of examples, those of two texts and of the same in the other order made one.

    Args:
      pairs: for each example its two texts, or what stands for them; others are no pairs.
      groups: for each example its group.
    """
    known = {pair: group for pair, group in zip(pairs, groups, strict=True) if len(pair) == 2}
    joined: dict[int, int] = {}  # a group -> another one of the same texts

    def whole(group):
        while group in joined:
            joined[group] = group = joined.get(joined[group], joined[group])
        return group

    for pair, group in zip(pairs, groups, strict=True):
        if pair[::-1] in known and pair[0] != pair[1]:
            first, second = whole(group), whole(known[pair[::-1]])
            if first != second:
                joined[first] = second
    return [*map(whole, groups)]


def far_fewer(fraction: float, held_out: int, number: int) -> str | None:
    """A sentence where far fewer of a number of examples were held out than the share that was asked for."""
    if held_out >= (1 - _FAR_OFF) * round(fraction * number):
        return None
    return f"dev_split={fraction} holds out only {held_out:,} of {number:,} examples: {_TOGETHER}."


def _order(group, seed):
    return hashlib.sha256(f"{seed}:{group}".encode("utf-8", "surrogatepass")).digest()


def _quotas(sizes, fraction, stay):
    """How many examples of each stratum; their sum is the rounded share, unless too few would stay."""
    quotas = {name: int(fraction * size) for name, size in sizes.items()}
    missing = round(fraction * sum(sizes.values())) - sum(quotas.values())
    by_remainder = sorted(sizes, key=lambda name: (quotas[name] - fraction * sizes[name], name))
    for name in [name for name in by_remainder if quotas[name] + stay < sizes[name]][:missing]:
        quotas[name] += 1
    return quotas


def digest_examples(examples) -> str:
    """SHA-256 of examples, whatever their order."""
    content = hashlib.sha256()
    for fingerprint in sorted(examples_fingerprint([example]) for example in examples):
        content.update(fingerprint.encode())
    return content.hexdigest()
