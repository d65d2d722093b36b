"""Problems with the lines of a corpus: all are counted, the first few are named. Standard library only."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kbert.files.text_file import Problem

NUM_NAMED = 5
_BYTES_AT_ONCE = 1 << 20


class LineOfFile(NamedTuple):
    """The `line`-th line, from 1, after the first `start` bytes of a file.

    A reader of a byte range does not know how many lines precede it. They are counted only when this is
    converted to `str`, to show it.
    """

    file: str
    start: int
    line: int

    def __str__(self):
        return f"{self.file} line {_count_lines(self.file, self.start) + self.line}"


class Problems:
    """Collects the problems of all that was left out. Workers send theirs, pickled or as JSON, to be merged.

    Attributes:
      counts: how many there were of each kind.
      named: the first `NUM_NAMED`, as (`LineOfFile`, what is wrong there).

    Examples:
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

    def add(self, line: LineOfFile, problem: Problem):
        self.counts[problem.kind] += 1
        if len(self.named) < NUM_NAMED:
            self.named.append((line, problem.what))

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
        return {"counts": dict(self.counts), "named": [[*line, what] for line, what in self.named]}

    @classmethod
    def from_json(cls, value: dict) -> "Problems":
        problems = cls()
        problems.counts.update(value["counts"])
        problems.named += [(LineOfFile(*line), what) for *line, what in value["named"]]
        return problems

    def summary(self) -> list[str]:
        """Lines for people: one for each kind, then the first few lines; nothing if nothing was wrong.

        The number of a line in the middle of a file is found by reading the file up to there.
        """
        lines = [f"{kind}: {count:,}" for kind, count in self.counts.items()]
        lines += [f"  {line} {what}" for line, what in self.named]
        if self.count > len(self.named):
            lines.append(f"  and {self.count - len(self.named):,} more")
        return lines


def _count_lines(file, num_bytes) -> int:
    """How many lines end in the first bytes of a file, which is not compressed where these are not 0."""
    lines = 0
    with open(file, "rb") as stream:
        while content := stream.read(min(_BYTES_AT_ONCE, num_bytes)):
            lines += content.count(b"\n")
            num_bytes -= len(content)
    return lines
