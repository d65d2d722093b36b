"""What is wrong in a file of rows: collected while it is read, and raised as one ValueError."""

from pathlib import Path

from kbert.files.json_values import first_few
from kbert.files.text_encoding import how_to_join_halves, likely_encoding, shown_as
from kbert.input_pipelines.json_rows import MissingColumn

MOST_ROWS = 20  # with something wrong; the file is not read beyond them
_MOST_NUMBERS = 10


class FileProblems:
    """Collects what is wrong in one file, in one reading of it.

    False as long as nothing is. Rows with the same sentence are listed together, as is a column that all rows
    lack.

    Args:
      path: the file.
      most: how many rows with something wrong are enough.

    Attributes:
      utf8_lines: how many of its lines hold characters beyond ASCII in UTF-8, counted by who reads them.
      split_lines: the number of a line, between two line feeds, for each carriage return within one.
    """

    def __init__(self, path: str | Path, most: int = MOST_ROWS):
        self._path, self._most = str(path), most
        self._sentences: dict[str, list[str]] = {}  # without "PATH line 3" -> the positions, such as "line 3"
        self._missing: list[MissingColumn] = []
        self._undecoded: list[tuple[int, str, bytes]] = []
        self._empty: list[str] = []
        self._hints: dict[str, None] = {}
        self._kinds: set[type[ValueError]] = set()
        self._num_rows, self._is_any = 0, False
        self._raised: ValueError | None = None
        self.utf8_lines = 0
        self.split_lines: list[int] = []

    def __bool__(self) -> bool:
        return self._is_any

    @property
    def is_full(self) -> bool:
        """Whether there are so many problems that the file need not be read to its end."""
        return self._num_rows >= self._most

    def add(self, error: ValueError | str):
        """Keeps an error, or its sentence: of a row it begins with file and line, else it is of the file."""
        if error is self._raised:
            return
        self._is_any = True
        if isinstance(error, MissingColumn):
            if error.column is None or error.column not in [known.column for known in self._missing]:
                self._missing.append(error)
            return
        self._kinds.add(type(error) if isinstance(error, ValueError) else ValueError)
        self._num_rows += 1
        position, sentence = self._split(str(error))
        self._sentences.setdefault(sentence, []).append(position)

    def add_hint(self, hint: str):
        """Keeps what may be the reason of problems; it is written once, after all of them."""
        if hint:
            self._hints[hint] = None

    def add_undecoded(self, number: int, what: str, content: bytes):
        """Keeps a line that is not in the encoding of its file: its number, what is wrong, its bytes."""
        self._is_any = True
        self._undecoded.append((number, what, content if len(self._undecoded) < MOST_ROWS else b""))

    def add_empty(self, where: str):
        """Keeps a row in which nothing stands."""
        self._is_any = True
        self._empty.append(where.removeprefix(f"{self._path} "))

    def raise_all(self):
        """Raises ValueError if there is a problem: a `MissingColumn` where one of them is; the class of the
        errors where all have one class."""
        if not self:
            return
        advice = " ".join(dict.fromkeys(error.advice for error in self._missing if error.advice))
        sentences = [
            *map(self._undecoded_sentence, self._undecoded[:1]),
            *(error.what for error in self._missing),
            *(self._joined(sentence, positions) for sentence, positions in self._sentences.items()),
            *([self._empty_sentence()] if self._empty else []),
            *self._hints,
        ]
        what = self._listed(sentences)
        kind = self._kinds.pop() if len(self._kinds) == 1 and len(sentences) == 1 else ValueError
        if self._missing:
            self._raised = MissingColumn(what, advice, self._missing[0].column)
        else:
            self._raised = (kind if kind.__init__ is ValueError.__init__ else ValueError)(what)
        raise self._raised

    def _split(self, sentence):
        """("line 3", the rest) of a sentence about a row; ("", the sentence) of any other."""
        words = sentence.removeprefix(f"{self._path} ").split(" ", 2)
        is_row = sentence.startswith(f"{self._path} ") and len(words) == 3 and words[0] in ("line", "row")
        number = words[1].rstrip(":,") if is_row else ""
        if not number.isdigit():
            return "", sentence
        return f"{words[0]} {number}", f"{words[1][len(number) :]} {words[2]}"

    def _joined(self, sentence, positions):
        if not positions[0]:
            return sentence
        first, *others = positions
        return f"{self._path} {first}{sentence}" + (f" (Also {_numbers(others)}.)" if others else "")

    def _listed(self, sentences):
        """One sentence, or a heading and a line for each."""
        if len(sentences) == 1:
            return sentences[0]
        lines = [
            sentence.removeprefix(f"{self._path} ").removeprefix(f"{self._path}: ") for sentence in sentences
        ]
        end = f"\n  Here the reading ended, after {self._most} rows." if self.is_full else ""
        return f"{self._path} cannot be used as it is:" + "".join(f"\n  {line}" for line in lines) + end

    def _undecoded_sentence(self, first):
        number, what, content = first
        others = len(self._undecoded) - 1
        also = f", nor {'is 1 other' if others == 1 else f'are {others:,} others'}" if others else ""
        start = f"{self._path} line {number} {what}{also}"
        contents = b" ".join(content for *_, content in self._undecoded[:MOST_ROWS])
        if joined := how_to_join_halves(contents):
            return f"{start}; {joined}"
        if self.utf8_lines:
            return (
                f"{start}, but {self.utf8_lines:,} line(s) hold other characters that are: these lines are "
                f"damaged, or come from another file; fix them ({shown_as(content, 'utf-8')!r})."
            )
        encoding = likely_encoding(contents)
        if encoding is None:
            return (
                f"{start}; save it as UTF-8, or name the encoding that it has, for example "
                "--override=dataset.encoding=cp1252 where the command has it."
            )
        return (
            f"{start}. It is likely to be {encoding}, which gives {shown_as(content, encoding)!r}: write "
            f"--override=dataset.encoding={encoding} where the command has it, or save it as UTF-8 (iconv -f "
            f"{encoding.upper()} -t UTF-8)."
        )

    def _empty_sentence(self):
        return (
            f"{self._path}: {len(self._empty):,} row(s) are empty ({_numbers(self._empty)}); leave them out "
            "by dataset.skip_empty_rows=true."
        )


def _numbers(positions: list[str]) -> str:
    """ "line 3, 4, 8 and 5 more" """
    word, numbers = positions[0].partition(" ")[0], [position.partition(" ")[2] for position in positions]
    return f"{word} {first_few(numbers, _MOST_NUMBERS)}"
