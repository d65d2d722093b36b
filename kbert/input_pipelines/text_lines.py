"""The lines of a file of rows, with their ends, and what shows that their encoding is a wrong one."""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from kbert.cli.warn_once import warn_once
from kbert.files.text_encoding import WINDOWS_FOR, is_misread, likely_encoding, shown_as
from kbert.files.text_file import Problem, find_encoding, numbered_lines, require_text_file
from kbert.input_pipelines.file_problems import FileProblems

_GET_AGAIN = "get the texts again, or fix them, for example with ftfy"
_DAMAGES: dict[Callable[[str], object], str] = {
    is_misread: "look as if UTF-8 had been read as another encoding and saved, as {shown!r}; get the texts "
    "in UTF-8, or fix them, for example with ftfy",
    re.compile("\ufffd").search: "hold U+FFFD, which stands for characters that were lost when a wrong "
    "encoding was read; get the texts again",
}
_CONTROLS = (
    "hold control characters of U+0080 to U+009F, which WordPiece deletes, as those of a text that is read "
    "in a wrong encoding; {mend}"
)


def text_lines(path: str | Path, encoding: str | None, problems: FileProblems) -> Iterator[str]:
    """The lines of a labelled file with their ends: a carriage return alone is one, too.

    Args:
      path: the file.
      encoding: `dataset.encoding`.
      problems: collects what cannot be read. Such a line is read as well as it can be, so that the rest of
        the file is looked at.

    Raises:
      ValueError: for a file that is missing or no text.
    """
    require_text_file(path, "rows of text")
    own = find_encoding(path, encoding)
    likely: str | None = None
    number, damaged = 0, DamagedLines(path, own)
    for number, _, line in numbered_lines(path, encoding=own):
        if isinstance(line, Problem):
            if not line.undecoded:
                problems.add(f"{path} line {number} {line.what}; {line.remedy}.")
            else:
                problems.add_undecoded(number, line.what, line.undecoded)
            likely = likely or likely_encoding(line.undecoded) or "latin-1"
            line = line.undecoded.decode(likely, "replace")
        elif not line.isascii():
            problems.utf8_lines += own == "utf-8"
            damaged.look_at(line)
        if "\r" in line:
            problems.split_lines += [number] * line.rstrip("\r").count("\r")
            yield from io.StringIO(f"{line}\n", newline="")
        else:
            yield f"{line}\n"
    damaged.say(number)


class DamagedLines:
    """Counts lines that were read in another encoding than theirs, here or before they were saved. A few are
    passed over: STS-B and RTE have one or two among thousands."""

    def __init__(self, path, encoding):
        self._path, self._encoding = path, encoding
        self._likely = WINDOWS_FOR.get(encoding, encoding)
        self._is_better = self._likely != encoding  # and has a character for each byte
        # No text has these, but for U+0085, which ends lines of some, and is "…" of Windows.
        controls = "[\x80-\x9f]" if self._is_better else "[\x80-\x84\x86-\x9f]"
        self._damages = _DAMAGES | {re.compile(controls).search: _CONTROLS}
        self._numbers, self._firsts = Counter[str](), {}

    def look_at(self, line):
        for is_in, sentence in self._damages.items():
            if is_in(line):
                content = line.encode(self._encoding, "replace")
                self._is_better &= "\ufffd" not in content.decode(self._likely, "replace")
                self._numbers[sentence] += 1
                self._firsts.setdefault(sentence, content)

    def say(self, num_lines):
        """Warns of what is in more than a line of a hundred."""
        for sentence, number in self._numbers.items():
            if number * 100 > num_lines:
                shown = shown_as(self._firsts[sentence], self._likely)
                mend = f"set dataset.encoding={self._likely}, which gives {shown!r}"
                sentence = sentence.format(shown=shown, mend=mend if self._is_better else _GET_AGAIN)
                warn_once(f"{self._path}: {number:,} line(s) {sentence}.")
