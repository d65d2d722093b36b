"""Problems with the lines of a corpus: all are counted, the first few are named. Standard library only."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tfrecords_tools.corpus.corpus_files import read_chunks

NUM_NAMED = 5


class Problem(NamedTuple):
    """A problem with a line: the kind under which it is counted, what is wrong, and how to mend it."""

    kind: str
    what: str
    remedy: str


class LineOfFile(NamedTuple):
    """The `line`-th line, from 1, after the first `start` bytes of a file.

    A reader of a byte range does not know how many lines precede it. They are counted only when a place is
    converted to `str`, to show it.
    """

    file: str
    start: int
    line: int

    def __str__(self):
        return f"{self.file} line {_lines_before(self.file, self.start) + self.line}"


class Problems:
    """Collects the problems of all that was left out. Workers send theirs, pickled or as JSON, to be merged.

    Attributes:
      counts: how many there were of each kind.
      named: the first `NUM_NAMED`, as (place, what is wrong there).

    Example:
      problems = Problems()
      for document in read_documents(unit, TextFormat(errors="skip"), problems):
          ...
      print(*problems.summary(), sep="\\n")
    """

    def __init__(self):
        self.counts = Counter()
        self.named = []

    @property
    def count(self) -> int:
        """How many there were in all."""
        return self.counts.total()

    def add(self, place: LineOfFile, problem: Problem):
        self.counts[problem.kind] += 1
        if len(self.named) < NUM_NAMED:
            self.named.append((place, problem.what))

    @classmethod
    def merge(cls, collectors: Iterable["Problems"]) -> "Problems":
        """Merges many collectors; the problems that they named are kept in the order of the collectors."""
        merged = cls()
        for collector in collectors:
            merged.counts.update(collector.counts)
            merged.named += collector.named[: NUM_NAMED - len(merged.named)]
        return merged

    def to_json(self) -> dict:
        """A value that `json` can write."""
        return {"counts": dict(self.counts), "named": [[*place, what] for place, what in self.named]}

    @classmethod
    def from_json(cls, value: dict) -> "Problems":
        problems = cls()
        problems.counts.update(value["counts"])
        problems.named += [(LineOfFile(*place), what) for *place, what in value["named"]]
        return problems

    def summary(self) -> list[str]:
        """Lines for people: one for each kind, then the first few places; no lines if nothing was wrong.

        The number of a line in the middle of a file is found by reading the file up to there.
        """
        lines = [f"{kind}: {count:,}" for kind, count in self.counts.items()]
        lines += [f"  {place} {what}" for place, what in self.named]
        if self.count > len(self.named):
            lines.append(f"  and {self.count - len(self.named):,} more")
        return lines


def _lines_before(file, start) -> int:
    lines = position = 0
    for chunk in read_chunks(file) if start else ():
        lines += chunk.count(b"\n", 0, start - position)
        position += len(chunk)
        if position >= start:
            break
    return lines
