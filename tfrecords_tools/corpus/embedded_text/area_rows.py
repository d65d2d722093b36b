"""Documents -> labelled rows: which area of the library is this about?"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfrecords_tools.corpus.embedded_text.areas import AREAS, SPLITS, area_of_module
from tfrecords_tools.corpus.embedded_text.library_documents import Document
from tfrecords_tools.corpus.embedded_text.sentences import sentence_words
from tfrecords_tools.corpus.embedded_text.splits import checksum

_ROWS_PER_LABEL = {"train": 60, "dev": 60, "test": 110}
_ROW_WORDS = range(15, 71)
_ENOUGH_WORDS = 28
_MOST_ROW_SENTENCES = 4


class LabelledRow(NamedTuple):
    """A short passage and the area of the library that its module belongs to."""

    text: str
    label: str
    module: str


def labelled_rows(documents: Iterable[Document]) -> dict[str, list[LabelledRow]]:
    """Returns the rows of every split: short passages of docstrings and their area.

    No two splits share a module. Rows of dev and test that repeat the wording of a train row are
    dropped as well, so that the scores measure text that is really new.
    """
    candidates: dict[tuple[str, str], list[LabelledRow]] = {}
    for document in documents:
        if place := area_of_module(document.source):
            rows = (LabelledRow(text, place[0], document.source) for text in _row_texts(document))
            candidates.setdefault(place, []).extend(rows)

    rows_by_split: dict[str, list[LabelledRow]] = {split: [] for split in SPLITS}
    known_wording: set[tuple[str, ...]] = set()
    for split in SPLITS:
        for label in AREAS:
            fresh = (
                row
                for row in candidates.get((label, split), [])
                if not _repeats_wording(row.text, known_wording)
            )
            rows_by_split[split] += _choose_rows(fresh, _ROWS_PER_LABEL[split])
        rows_by_split[split].sort(key=lambda row: checksum(row.text))
        for row in rows_by_split[split]:
            known_wording.update(_wording(row.text))
    return rows_by_split


def _row_texts(document: Document) -> Iterator[str]:
    """Yields passages of one to four neighbouring sentences; no sentence is in two passages."""
    row: list[str] = []
    for passage in document.passages:
        if passage.kind != "docstring":
            continue
        for sentence in passage.sentences:
            row.append(sentence)
            num_words = len(" ".join(row).split())
            if num_words >= _ENOUGH_WORDS or len(row) == _MOST_ROW_SENTENCES:
                if num_words in _ROW_WORDS:
                    yield " ".join(row)
                row = []


def _choose_rows(rows: Iterable[LabelledRow], num_rows: int) -> list[LabelledRow]:
    """Picks by checksum, at most a third from one module, so that no module dominates its area."""
    chosen, per_module = [], Counter()
    for row in sorted(rows, key=lambda row: checksum(row.text)):
        if len(chosen) < num_rows and per_module[row.module] < num_rows // 3:
            chosen.append(row)
            per_module[row.module] += 1
    return chosen


def _wording(text: str) -> set[tuple[str, ...]]:
    words = sentence_words(text)
    return set(zip(*(words[start:] for start in range(5)), strict=False))


def _repeats_wording(text: str, known_wording: set[tuple[str, ...]]) -> bool:
    """True where more than a third of the runs of five words are known already."""
    wording = _wording(text)
    return 3 * len(wording & known_wording) > len(wording)
