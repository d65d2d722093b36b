"""The line below a table: when, where and how its figures were taken."""

import textwrap

from benchmarks.figures.machine import in_words
from benchmarks.figures.records import BENCHMARK

_WIDTH = 119


def caption(records: list[dict], with_commits: bool = True) -> list[str]:
    """Lines of at most 119 characters: dates and commits of each machine, then what no benchmark wrote.

    Args:
      records: those of the table; each is named once.
      with_commits: whether to name them.
    """
    machines: dict[str, list[dict]] = {}
    for record in sorted(records, key=lambda record: record["date"]):
        machines.setdefault(in_words(record["machine"]), []).append(record)
    taken = [f"{_when(found, with_commits)}, {where}" for where, found in machines.items()]
    by_hand = sum(record["origin"] != BENCHMARK for record in records)
    whose = {0: "", len(records): " Written down by hand."}.get(by_hand, " In part written down by hand.")
    return textwrap.wrap(
        "; ".join(taken) + "." + whose, _WIDTH, break_long_words=False, break_on_hyphens=False
    )


def _when(records, with_commits):
    """The dates of records of one machine, in order, and their commits."""
    days = list(dict.fromkeys(record["date"] for record in records))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    commits = dict.fromkeys(record["commit"] for record in records if record["commit"])
    return f"{when} ({', '.join(commits)})" if with_commits and commits else when
