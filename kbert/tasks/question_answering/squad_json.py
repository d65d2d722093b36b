"""JSON of questions, in a stream: its paragraphs, and rows. See `squad_files`, which says their forms."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import ijson

from kbert.files.compression import naming_damage
from kbert.files.json_values import shown_name
from kbert.files.text_file import require_text_file, utf8_bytes

_SHOWN_FORM = '{"data": [{"paragraphs": [...]}]}'
_SHOULD_BE = {
    "start_map": f"should be (or hold) an object, as in {_SHOWN_FORM}.",
    "start_array": f"should be a list, as in {_SHOWN_FORM}.",
}


@contextlib.contextmanager
def opened(path: Path):
    """The bytes of a file in UTF-8, unpacked, without a byte order mark; its errors as one sentence."""
    if not path.exists():
        raise ValueError(f"file of questions {path} does not exist.")
    require_text_file(path, "JSON in SQuAD's form")
    try:
        with naming_damage(path, "get it again"), utf8_bytes(path) as stream:
            yield stream
    except ijson.JSONError as error:
        raise ValueError(
            f"{path} is not whole JSON ({_sentence(error)}); expected a file in SQuAD's form."
        ) from None


def _sentence(error):
    """The parser's words, which come with a picture of the place, on one line."""
    text = error.args[0] if error.args else ""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    what, near = lines[0].rstrip("."), lines[1][:80] if len(lines) > 1 else ""
    return f"{what}, near {near!r}" if near else what


def paragraphs_and_rows(stream, path: Path) -> Iterator[tuple[str, dict, bool]]:
    """Yields (where it is, object, whether it is a row) of paragraphs and rows.

    An object is built of its events, but without its paragraphs (or its `data`), which are objects of their
    own: so the memory for a file is that of a paragraph.

    Raises:
      ValueError: for JSON of another form.
    """
    form = _Form(path)
    objects: dict[str, _Builder] = {}  # rows and what is around them, by prefix
    holders: set[str] = set()  # of paragraphs, or of articles
    builder, inside = None, ""  # of the paragraph that is read
    article = number = row = 0
    for prefix, event, value in ijson.parse(stream, use_float=True, multiple_values=True):
        if builder is not None:
            builder.event(event, value)
            if event == "end_map" and prefix == inside:
                yield f"{path}, paragraph {number} of article {article}", builder.value, False
                builder = None
            continue
        root = form.root(prefix, event)
        inside = f"{root}.paragraphs.item"
        if event not in ("map_key", "end_map", "end_array"):
            if prefix == inside:
                builder, number = _paragraph(event, path, article), number + 1
                continue
            form.check(prefix, event, root)
            if prefix == root and event == "start_map":
                objects[root], article, number = _Builder(path), article + bool(root), 0
        if prefix in ("data", f"{root}.paragraphs") or root not in objects:
            holders.add(root)
            continue
        objects[root].event(event, value)
        if event == "end_map" and prefix == root:
            whole = objects.pop(root).value
            if "question" in whole or "context" in whole:
                row += 1
                yield f"{path}, row {row}", whole, True
                form.holds_rows = True
            elif root not in holders and (root or form.holds_rows):
                raise ValueError(
                    f"{path}: object {article or row + 1} has no question, context or paragraphs, only "
                    f"{', '.join(map(shown_name, whole)) or 'nothing'}; rename these, or take it out."
                )
            holders.discard(root)


class _Builder(ijson.ObjectBuilder):
    """An `ObjectBuilder` that refuses a name that an object has twice: it would keep the last value."""

    def __init__(self, path):
        super().__init__()
        self._path = path
        self._names: list[set[str]] = []  # of the objects that are open

    def event(self, event, value):
        if event == "start_map":
            self._names.append(set())
        elif event == "end_map":
            self._names.pop()
        elif event == "map_key":
            if value in self._names[-1]:
                raise ValueError(
                    f"{self._path}: the name {shown_name(value)} appears twice in one object; keep one."
                )
            self._names[-1].add(value)
        super().event(event, value)


def _paragraph(event, path, article):
    """A builder of a paragraph, after its first event."""
    if event != "start_map":
        raise ValueError(f"{path}: article {article} has a paragraph that is no object.")
    builder = _Builder(path)
    builder.event(event, None)
    return builder


class _Form:
    """Which form a file has, known from its first events: an object with `data`, a list, or objects in lines.

    Attributes:
      holds_rows: whether there was a row.
    """

    def __init__(self, path):
        self._path, self._is_list, self._tops = path, False, 0
        self.holds_rows = False

    def root(self, prefix, event) -> str:
        """The prefix of the article or row that a prefix belongs to; "" for what is outside of a list."""
        if prefix == "" and event in ("start_map", "start_array"):
            self._is_list = event == "start_array"
            self._tops += 1
            if self._tops > 1 and (self._is_list or not self.holds_rows):
                raise ValueError(
                    f"{self._path} holds more than one JSON value; expected one in SQuAD's form, or rows in "
                    "lines. A first line that is no row, as MRQA's header, has to be taken out."
                )
        if self._is_list:
            return "item" if prefix.startswith("item") else ""
        return "data.item" if prefix.startswith("data.item") else ""

    def check(self, prefix, event, root):
        """Raises ValueError for another value than the form has above a paragraph."""
        expected = {"": "start_array" if self._is_list else "start_map", "data": "start_array"}
        if root:
            expected |= {root: "start_map", f"{root}.paragraphs": "start_array"}
        if prefix in expected and event != expected[prefix] and not (self._is_list and prefix == "data"):
            raise ValueError(
                f"{self._path} is not in SQuAD's form: {prefix.removesuffix('.item') or 'the file'} "
                f"{_SHOULD_BE[expected[prefix]]}"
            )
