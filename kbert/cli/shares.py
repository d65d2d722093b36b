"""How many of many are so, such as "3 of 7 texts (42.9%) are cut": said once of all parts they come in."""

import contextlib
from collections.abc import Iterator, Mapping

from absl import logging

_held: list[dict] = []  # of the `held_shares` around, the innermost last


def say_share(number: int, total: int, units: str, what: str, level: int = logging.INFO):
    """Logs such a sentence where any are so; inside of `held_shares` the numbers are added up instead.

    Args:
      number: how many are so.
      total: of how many.
      units: what they are, for example "texts".
      what: the rest of the sentence, the same for all parts.
      level: of absl's logging.
    """
    if _held:
        sums = _held[-1].get((units, what, level), (0, 0))
        _held[-1][units, what, level] = sums[0] + int(number), sums[1] + total
    elif number:
        share = f"{number:,} of {total:,} {units} ({100 * number / total:.3g}%)"
        logging.log(level, "%s %s", share, what)


@contextlib.contextmanager
def held_shares() -> Iterator[dict]:
    """Inside, nothing is said. Yields what is held, for `say_shares`; it can be pickled."""
    _held.append({})
    try:
        yield _held[-1]
    finally:
        _held.pop()


def say_shares(held: Mapping):
    """Says, or holds, what `held_shares` held: of a worker, or of all parts."""
    for names, sums in held.items():
        say_share(*sums, *names)
