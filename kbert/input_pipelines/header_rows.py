"""What tells that a row is a header: names of columns in the place of texts and labels."""

import re
from collections.abc import Sequence

from kbert.config import DatasetConfig
from kbert.input_pipelines.label_names import as_number

# Names of columns, in lower case, that a header has and no label is likely to be.
_HEADS_OF_LABELS = frozenset(
    "label labels gold_label class category target score sentiment polarity stars rating intent topic".split()
)
_HEADS_OF_TEXTS = frozenset(
    "text text1 text2 sentence sentence1 sentence2 question question1 question2 body review tweet comment "
    "content title message premise hypothesis query anchor document passage positive answer".split()
)
# Words that such names are made of: "Class Index", "Review Text", "gold-label", "Name".
_OF_LABELS = _HEADS_OF_LABELS | {"gender", "sex", "emotion", "genre", "nationality", "star"}
_OF_TEXTS = _HEADS_OF_TEXTS | frozenset(
    "description phrase news article abstract headline utterance word name negative sentences texts".split()
)
_BESIDE = frozenset("gold index id ids name type full clean cleaned raw original".split())
_NAME = re.compile(r"[^\W\d]\w*")
_NAMES = re.compile(r"[^\W\d][\w\-/():#.]*( [\w\-/():#.]+){0,2}(?<![.:])")  # a few words
_LONGEST = 30  # characters of a name
_FEW_ROWS = 20  # of which any may have a label and a text of one word alone
_ADVICE = "take the line out, or leave out dataset.column_names, which is for files without one."
_IF_A_ROW = " If it is a row, list all labels in dataset.labels."


def names_columns(cells: Sequence[str], dataset: DatasetConfig) -> bool:
    """Whether the first row of a file that is to be answered, of a run whose files have no header, is one:
    names of columns alone, among them that of a text, in any case, and no label."""
    cells = [_bare(cell) for cell in cells]
    texts = {name.lower() for name in (*dataset.text_columns, "text", "text_pair")}
    named = not texts.isdisjoint(map(str.lower, cells)) and {*dataset.labels}.isdisjoint(cells)
    return named and all(map(_is_name, filter(None, cells)))


class Headers:
    """Refuses headers among the rows of a file, of which none has one, or only before them.

    Args:
      dataset: names the columns.
    """

    def __init__(self, dataset: DatasetConfig):
        self._dataset, self._texts = dataset, dataset.text_columns
        self._label_heads = _HEADS_OF_LABELS | {dataset.label.lower()}
        self._heads = (
            (dataset.text, _HEADS_OF_TEXTS | {dataset.text.lower()}),
            (dataset.label, self._label_heads),
        )
        # Of rows without a label; a single text may be any word.
        several = [(column, {column.lower()}) for column in self._texts]
        self._text_heads = several if len(several) > 1 else []
        self._doubted: str | None = None  # the label of a first row that may be a header
        self._is_sure, self._is_word, self._why = False, False, ""

    def is_head_of_label(self, cell) -> bool:
        """Whether a cell holds the name of a column of labels."""
        return _is_head(cell, self._label_heads)

    def refuse(self, record: dict, where: str, is_first: bool):
        """Raises ValueError for a row whose cells are heads; `is_first` of a file without a header, where
        they need not be those of its columns. A row with one of `dataset.labels` is none."""
        has_label, label = self._dataset.label in record, record.get(self._dataset.label)
        if isinstance(label, str) and label in self._dataset.labels:
            return
        heads, way_on = (self._heads, _IF_A_ROW) if has_label else (self._text_heads, "")
        if heads and all(_is_head(record.get(column), names) for column, names in heads):
            advice = _ADVICE if self._dataset.column_names else "take the line out."
            shown = ", ".join(repr(record[column]) for column, _ in heads)
            raise ValueError(f"{where} repeats the header ({shown}); {advice}{way_on}")
        if is_first and self._are_usual_heads(record):
            raise ValueError(f"{where} looks like a header ({_shown(record)}); {_ADVICE}{way_on}")

    def refuse_names(self, record: dict, where: str):
        """Raises ValueError for the first row of a file without a header whose labels are not read, where all
        cells are names, one is a usual head, and that of the label none of `dataset.labels`."""
        label, cells = record.get(self._dataset.label), [cell for cell in record.values() if _bare(cell)]
        if not _is_name(label) or label in self._dataset.labels or not all(map(_is_name, cells)):
            return
        if any(_is_usual_head(cell, _OF_TEXTS | _OF_LABELS) for cell in cells):
            raise ValueError(
                f"{where} looks like a header ({_shown(record)}); call the column of the texts "
                f"{self._dataset.text!r}, or take the line out. If it is a row, leave its label empty."
            )

    def _are_usual_heads(self, record):
        """Whether two of text, second text and label are usual heads, or text and label the other's."""
        label = record.get(self._dataset.label)
        if isinstance(label, str) and as_number(label) is not None:
            return False
        pair = (self._dataset.text, self._dataset.text_pair)
        texts = [_is_usual_head(record.get(column), _OF_TEXTS) for column in pair if column]
        text = record.get(self._dataset.text)
        is_turned = self.is_head_of_label(text) and _is_head(label, {name.lower() for name in self._texts})
        return is_turned or sum(texts) + _is_usual_head(label, _OF_LABELS) > 1

    def doubt(self, record: dict, where: str):
        """Keeps the first row of a file without a header, of classes that nobody lists, where it may be one:
        the label or the text is a usual head, or all cells are names. The other rows tell, see `say`."""
        text, label = record.get(self._dataset.text), record.get(self._dataset.label)
        if not _is_name(label):
            return
        heads = self.is_head_of_label(label) or _is_usual_head(label, _OF_LABELS)
        self._is_sure = heads or _is_usual_head(text, _OF_TEXTS)
        if self._is_sure or all(_is_name(cell) for cell in record.values() if _bare(cell)):
            self._doubted, self._is_word = _bare(label), bool(_NAME.fullmatch(_bare(text)))
            self._why = (
                f"{where} looks like a header ({text!r}, {label!r}): no other row has its label; "
                f"{_ADVICE}{_IF_A_ROW}"
            )

    def look_at(self, label, text):
        """Tells by another row: the first is one as well where this has its label, or, without a usual head,
        a text as it has: of a word, or of a few, which any text may have whose label is no number."""
        if self._doubted is None:
            return
        if re.search(rf"(?<!\w){re.escape(self._doubted)}(?!\w)", str(label)):
            self._doubted = None
        elif not self._is_sure and self._is_word:
            if _is_name(text) and _NAME.fullmatch(_bare(text)):
                self._doubted = None
        elif not self._is_sure and (_is_name(text) or as_number(str(label)) is None):
            self._doubted = None

    def say(self, number: int):
        """Raises ValueError where the first of so many rows looks like a header, and none tells otherwise."""
        if self._doubted is not None and number >= _FEW_ROWS:
            raise ValueError(self._why)


def _shown(record):
    return ", ".join(map(repr, record.values()))[:200]


def _bare(cell):
    """A cell without the byte order mark that stands before it in a file that was joined to another."""
    return str(cell).strip("\ufeff").strip()


def _is_head(cell, heads):
    """Whether a cell holds the name of a column, where none was expected or once more."""
    return isinstance(cell, str) and _bare(cell).lower() in heads


def _is_usual_head(cell, words):
    """Whether a cell holds the name of a column that is made of such words, maybe with others beside."""
    if _is_head(cell, words) or not _is_name(cell):
        return _is_head(cell, words)
    parts = {*re.split(r"[\W_]+", re.sub(r"\(.*?\)", "", _bare(cell).lower()))} - {""}
    return not parts.isdisjoint(words) and parts <= words | _BESIDE


def _is_name(cell):
    """Whether a cell may be the name of a column: a word or a few, without marks of a sentence."""
    return isinstance(cell, str) and len(_bare(cell)) <= _LONGEST and bool(_NAMES.fullmatch(_bare(cell)))
