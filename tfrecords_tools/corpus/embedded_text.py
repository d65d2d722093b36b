"""The text that comes with every CPython: its documentation, turned into documents of sentences.

`make quickstart` has to work on a machine without a network. CPython carries a few megabytes of
careful English with it: the language reference behind `help()` (`pydoc_data.topics`) and the
docstrings and comments of the standard library. This module reads those files as *text* (the
library's modules are parsed, never imported), strips markup and code, and keeps what reads like
English. The same files always give the same documents, in the same order.

From top to bottom: finding the files, text to sentences, files to documents, documents to splits.
The labelled rows ("which area of the library is this about?") are at the end, together with the
table that says which module belongs to which area.

Plain Python: the standard library is all it needs.
"""

import ast
import inspect
import os
import re
import sys
import sysconfig
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Passage(NamedTuple):
    """Consecutive sentences that one author wrote in one place.

    `kind` is "docstring", "comment" or "topic".
    """

    kind: str
    sentences: tuple[str, ...]


class Document(NamedTuple):
    """What BERT's pretraining calls a document: sentences that belong together.

    `source` is the module (`"email.message"`) or the help topic (`"topic:assert"`) it comes from.
    """

    source: str
    passages: tuple[Passage, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for passage in self.passages for sentence in passage.sentences)


class LabelledRow(NamedTuple):
    """A short passage and the area of the library that its module belongs to."""

    text: str
    label: str
    module: str


# ---------------------------------------------------------------------- finding the files

# Tests repeat one another; lib2to3, encodings and pydoc_data hold grammars and tables, not prose.
_SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "idle_test", "lib2to3", "encodings", "pydoc_data", "__pycache__"}
)


def standard_library_folder() -> Path:
    """The folder that holds the running Python's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def check_library(library: Path) -> None:
    """Makes sure that `library` has what this module reads, before any work is done.

    Raises:
      ValueError: names everything that is missing, and how to mend it.
    """
    missing = []
    if not (library / "pydoc_data" / "topics.py").is_file():
        missing.append("pydoc_data/topics.py (the text behind help())")
    if not any(True for _ in module_files(library)):
        missing.append("the .py sources of the standard library (os.py, email/message.py, ...)")
    if missing:
        raise ValueError(
            f"The Python in {library} lacks {' and '.join(missing)}. The embedded text is read "
            "from CPython's own files, which some distributions strip or keep in a zip file. Use a "
            "full CPython (python.org, pyenv, conda, or the complete python3 of a distribution), "
            "or bring a corpus of your own: one sentence a line, a blank line between documents."
        )


def module_files(library: Path) -> Iterator[tuple[str, Path]]:
    """Yields `(dotted module name, file)` of the library's modules, sorted by path."""
    paths = []
    for folder, subfolders, names in os.walk(library):
        # Pruned on the way down: the test suite alone is larger than all the rest.
        subfolders[:] = [name for name in subfolders if _is_library_folder(name)]
        paths += [Path(folder, name) for name in names if name.endswith(".py")]
    for path in sorted(paths):
        parts = path.relative_to(library).with_suffix("").parts
        # Stray scripts that some machines keep in the same folder are not part of CPython.
        if parts[0] in sys.stdlib_module_names:
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _is_library_folder(name: str) -> bool:
    return name.isidentifier() and name not in _SKIPPED_FOLDERS


def read_topics(library: Path) -> dict[str, str]:
    """Reads the help topics, a dictionary literal, without importing the module."""
    tree = ast.parse((library / "pydoc_data" / "topics.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            return ast.literal_eval(node.value)
    raise ValueError(
        f"{library / 'pydoc_data' / 'topics.py'} has no dictionary of topics at its top level; "
        "expected `topics = {...}` as CPython 3.11 to 3.13 have it. Use one of those versions."
    )


# ---------------------------------------------------------------------- text to paragraphs

_RULER = re.compile(r"^[\W_]{3,}$|^-\[.*\]-$")
_TABLE_ROW = re.compile(r"^\s*[|+]|\|\s*$|\S\s{3,}\S+\s{3,}\S")
_CODE_LINE = re.compile(
    r"^\s*(?:>>>|\.\.\.(?:\s|$)|\.\. |\$ |:\w+|[%#]!|@\w+\b|import \w+|from [\w.]+ import |"
    r"[\w.]+\([^()]*\)(?: ->.*)?:?$|[\w.\[\]]+ = )"
)
_BULLET = re.compile(r"^(?:[-*+o•]|\(?[0-9a-z]{1,2}[.)]|\[\d+\])\s+(?=\S)")
# "filename  The name of the file", "timeout -- how long to wait": the term is not a sentence.
_TERM = re.compile(r"^[\w.'\"*()/|,=\[\]-]+(?:\s*:\s|\s+--?\s+|(?<![.!?:,;])\s{2,})(?=\S)")
_LABEL = re.compile(
    r"^(?:Note|Notes|Warning|Caution|Important|See also|Example|Examples|XXX|TODO|NOTE|FIXME|BUG|"
    r"(?:New|Added|Changed|Deprecated)(?: in| since)?(?: version)? [\d.]+(?:, (?:will be )?removed"
    r" in(?: version)? [\d.]+)?)(?:\s*\([\w ]+\))?\s*[:.]\s*"
)
_LEGAL = re.compile(
    r"copyright|licen[cs]e|permission|warrant|liabl|all rights reserved|redistribut|damages", re.I
)


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs of a docstring, comment or help topic, each on one line.

    A paragraph ends at a blank line, a bullet, a change of indentation or a term of a definition
    list. Code that follows `::`, doctests, tables, rulers and directives are left out.
    """
    lines: list[str] = []
    indent = 0
    code_indent = None  # inside a literal block: everything indented deeper than this
    in_doctest = False  # until the next blank line: what the code above it prints

    for line in [*text.expandtabs().splitlines(), ""]:
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        if stripped and code_indent is not None:
            if depth > code_indent:
                continue
            code_indent = None

        in_doctest = bool(stripped) and (in_doctest or stripped.startswith(">>>"))
        is_text = (
            stripped
            and not in_doctest
            and not any(pattern.search(line) for pattern in (_RULER, _TABLE_ROW, _CODE_LINE))
        )
        starts_new = is_text and (
            not lines
            or depth < indent
            or depth > indent
            and len(lines) > 1
            or _BULLET.match(stripped)
            or _TERM.match(stripped)
        )
        if lines and (not is_text or starts_new):
            yield _join_lines(lines)
            lines = []
        if is_text:
            lines.append(stripped)
            indent = depth
            if stripped.endswith("::"):
                code_indent = depth


def _join_lines(lines: list[str]) -> str:
    text = lines[0]
    for line in lines[1:]:
        # "pre-" + "formatted" is one word that the author broke at its hyphen.
        broken_word = re.search(r"[a-z]-$", text) and line[0].islower()
        text += line if broken_word else " " + line
    return text


# ---------------------------------------------------------------------- paragraphs to sentences

_PLAIN_QUOTES = str.maketrans("‘’“”–—\u00a0", "''\"\"-- ")
_ROLE = re.compile(r":[\w:+-]+:`~?!?([^`<]+?)\s*(?:<[^`>]*>)?`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_*")
_BACKQUOTES = re.compile(r"`(\w[^`'\s]*)'|`+([^`]+)`+_{0,2}")
_STARS = re.compile(r"\*+(?=\S)([^*]+?)(?<=\S)\*+|(?<!\S)\*{1,2}(?=\w)")
_QUOTED_NAME = re.compile(r"\"+([^\"\s]+)\"+")
_REFERENCE = re.compile(r"\s*\[\d+\]_?|\s*\((?:bpo|gh|issue|PEP)[- #]?\d+\)|<[^<>\s]*(?:://|@)[^<>\s]*>")

_ABBREVIATION = re.compile(
    r"\b(?i:e\.g|i\.e|vs|cf|resp|approx|incl|excl|fig|vol|sec|pp|al|mr|mrs|dr|st|eg|ie|viz|"
    r"w\.r\.t|a\.k\.a)\.$|(?:^|[A-Z][a-z]+ )[A-Z]\.$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*(?:(?=\s+[A-Z\"'(\[])|(?=\s{2,}\S))\s+")

_PLAIN_WORD = re.compile(r"^[(\"']*[A-Za-z]+(?:['/-][A-Za-z]+)*[\"')]*[,.;:!?]*[\"')]*$")
_FUNCTION_WORDS = frozenset(
    "a an the this that these those it its is are was were be been has have had do does can could "
    "may might must shall should will would not no if when where which who what whether and or but "
    "of to in on at by for from with without as than then so into".split()
)
_VERB = re.compile(
    r"(?:is|are|was|were|can|may|must|will|should|would|does|do|has|have|cannot|isn't|doesn't|"
    r"defaults?|returns?|takes?|gives?|specif(?:y|ies)|contains?|determines?|allows?|provides?)\b"
)
_CODE = re.compile(r"[{}|\\~^@$`#*]|[<>]\S|\S[<>]|[=/&-]{2}|\s[=+/&<>%-]\s|%[\w(]|:[:/]|\.{4}")
_FEWEST_WORDS, _MOST_WORDS = 4, 90


def plain_text(paragraph: str) -> str:
    """Replaces markup by the words it marks: "``x``", ":func:`x`", "*x*" become "x"."""
    text = paragraph.translate(_PLAIN_QUOTES).replace("…", "...")
    text = re.sub(r"\bXXX\b:?\s*", "", text)
    text = _LABEL.sub("", _TERM.sub("", _BULLET.sub("", text)))
    text = _LINK.sub(r"\1", _ROLE.sub(r"\1", text))
    text = _BACKQUOTES.sub(lambda match: match[1] or match[2], text)
    text = _QUOTED_NAME.sub(r"\1", _STARS.sub(r"\1", text))
    return _REFERENCE.sub("", text)


def split_sentences(text: str) -> list[str]:
    """Splits where a full stop, question or exclamation mark is followed by a new beginning.

    "e.g. this", "Mr. Smith" and "J. Random Hacker" do not end a sentence. Two blanks after a full
    stop end one even before a small letter, since many sentences here begin with a name: "n is".
    """
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        candidate = text[start : match.end()].rstrip()
        if _ABBREVIATION.search(candidate) or candidate.count("(") > candidate.count(")"):
            continue
        sentences.append(candidate)
        start = match.end()
    return [*sentences, text[start:].strip()]


def reads_like_english(sentence: str) -> bool:
    """True for a whole sentence of mostly plain words; False for code, titles and fragments."""
    words = sentence.split()
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or not sentence.isascii():
        return False
    if _CODE.search(sentence) or sentence[-1] not in ".!?\"')":
        return False
    if sentence.count("(") != sentence.count(")") or sentence.count('"') % 2:
        return False
    if not (sentence[0].isupper() or _begins_with_name(words)):
        return False
    plain = sum(bool(_PLAIN_WORD.match(word)) for word in words)
    function_words = sum(word.lower().strip("(\"'),.;:") in _FUNCTION_WORDS for word in words)
    return plain >= 0.7 * len(words) and function_words >= max(1, len(words) // 8)


def _begins_with_name(words: list[str]) -> bool:
    """True for "n is at most 3." and "sizehint defaults to 0."; False for a cut-off rest."""
    return words[0].lower().strip("\"'(,") not in _FUNCTION_WORDS and any(
        _VERB.match(word) for word in words[1:4]
    )


def prose_sentences(text: str) -> Iterator[str]:
    """Yields the English sentences of a docstring, comment or help topic, free of markup."""
    for paragraph in paragraphs(text):
        if _LEGAL.search(paragraph):
            continue
        for sentence in split_sentences(plain_text(paragraph)):
            sentence = " ".join(sentence.split())
            sentence = _closed(sentence)
            if reads_like_english(sentence):
                yield sentence


def _closed(sentence: str) -> str:
    """Gives a summary line, and the words that introduce an example, their full stop.

    What stops in the middle ("It is the same as:") stays open, and is then refused.
    """
    bare = sentence.rstrip(":")
    unfinished = bare != sentence and bare.split()[-1:] and bare.split()[-1] in _FUNCTION_WORDS
    if unfinished or not re.search(r"[\w)'\"]$", bare) or re.search(r"[.!?][)'\"]$", bare):
        return sentence
    return bare + "."


# ---------------------------------------------------------------------- files to documents

_FEWEST_CLASS_SENTENCES = 4
_SECTION = re.compile(r"^(?=.+\n[*=~^-]{3,}$)", re.M)


def topic_documents(topics: dict[str, str]) -> Iterator[Document]:
    """Yields a document for each section of each help topic.

    Long topics come first: they quote the short ones, and a sentence is kept where it is met first.
    """
    for name in sorted(topics, key=lambda name: (-len(topics[name]), name)):
        for section in _SECTION.split(topics[name]):
            if sentences := tuple(prose_sentences(section)):
                yield Document(f"topic:{name}", (Passage("topic", sentences),))


def module_documents(name: str, source: str) -> Iterator[Document]:
    """Yields a document for the module itself, then one for every class that has much to say."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    of_module: list[Passage] = []
    of_class: dict[ast.ClassDef, list[Passage]] = {node: [] for node in classes}

    definitions = list(_definitions(tree))
    for line_number, passage in sorted([*_docstrings(definitions), *_comments(definitions, source)]):
        owner = next((c for c in classes if c.lineno <= line_number <= c.end_lineno), None)
        (of_module if owner is None else of_class[owner]).append(passage)

    for passages in of_class.values():
        if sum(len(passage.sentences) for passage in passages) < _FEWEST_CLASS_SENTENCES:
            of_module.extend(passages)
    yield Document(name, tuple(of_module))
    for passages in of_class.values():
        if sum(len(passage.sentences) for passage in passages) >= _FEWEST_CLASS_SENTENCES:
            yield Document(name, tuple(passages))


def _definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the module, classes and functions of a tree, without a look into its expressions."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for block in ("body", "orelse", "handlers", "finalbody"):
        children = getattr(node, block, ())
        for child in children if isinstance(children, list) else ():
            yield from _definitions(child)


def _docstrings(definitions: list[ast.AST]) -> Iterator[tuple[int, Passage]]:
    for node in definitions:
        if docstring := ast.get_docstring(node):
            if sentences := tuple(prose_sentences(docstring)):
                yield node.body[0].lineno, Passage("docstring", sentences)


def _comments(definitions: list[ast.AST], source: str) -> Iterator[tuple[int, Passage]]:
    """Yields the comments that stand on lines of their own, neighbouring lines together."""
    inside_docstrings = {
        number
        for node in definitions
        if ast.get_docstring(node, clean=False)
        for number in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    block: list[str] = []
    for number, line in enumerate([*source.split("\n"), ""], start=1):
        stripped = line.strip()
        if stripped.startswith("#") and number not in inside_docstrings:
            block.append(stripped.lstrip("#"))
            continue
        if block and not _LEGAL.search(" ".join(block)):
            if sentences := tuple(prose_sentences(inspect.cleandoc("\n".join(["", *block])))):
                yield number - len(block), Passage("comment", sentences)
        block = []


def documents(library: Path) -> list[Document]:
    """Reads the whole library: help topics first, then modules; no sentence comes twice."""
    check_library(library)
    return list(_without_repeats(_all_documents(library)))


def _all_documents(library: Path) -> Iterator[Document]:
    yield from topic_documents(read_topics(library))
    for name, path in module_files(library):
        yield from module_documents(name, path.read_text(encoding="utf-8"))


def _without_repeats(documents: Iterable[Document]) -> Iterator[Document]:
    """Drops sentences met before, then documents with fewer than two sentences left."""
    seen: set[str] = set()
    for document in documents:
        passages = []
        for kind, sentences in document.passages:
            fresh = []
            for sentence in sentences:
                key = " ".join(sentence_words(sentence))
                if key not in seen:
                    seen.add(key)
                    fresh.append(sentence)
            if fresh:
                passages.append(Passage(kind, tuple(fresh)))
        if sum(len(passage.sentences) for passage in passages) >= 2:
            yield Document(document.source, tuple(passages))


def sentence_words(sentence: str) -> list[str]:
    """The words that decide whether two sentences say the same: no case, digits, punctuation."""
    return re.findall(r"[a-z]+", sentence.lower())


# ---------------------------------------------------------------------- documents to splits


def split_documents(
    documents: list[Document], heldout_share: float = 0.05
) -> tuple[list[Document], list[Document]]:
    """Splits into `(train, heldout)`; all documents of a module or help topic go the same way.

    The choice is by a checksum of the source's name: it looks random, and never changes.
    """
    sizes = Counter()
    for document in documents:
        sizes[document.source] += len(document.sentences)
    wanted = heldout_share * sum(sizes.values())

    heldout_sources, size = set(), 0
    for source in sorted(sizes, key=_checksum):
        # A source that would overshoot is passed over, so one giant cannot be all of the held-out.
        if size + sizes[source] <= wanted and sizes[source] <= max(2, wanted / 10):
            heldout_sources.add(source)
            size += sizes[source]
    train = [document for document in documents if document.source not in heldout_sources]
    heldout = [document for document in documents if document.source in heldout_sources]
    return train, heldout


def _checksum(text: str) -> tuple[int, str]:
    return zlib.crc32(text.encode("utf-8")), text


# ---------------------------------------------------------------------- documents to labelled rows

SPLITS = ("train", "dev", "test")

# Area of the library -> the modules whose sentences describe it, for train, dev and test. A name
# stands for its submodules too ("xml" for xml.dom.minidom); the longest name that fits is used.
# Modules that came or went between CPython 3.11 and 3.13 may be listed: a missing one is no harm.
AREAS: dict[str, tuple[str, str, str]] = {
    "internet": (
        "http urllib email imaplib ftplib socketserver ipaddress telnetlib smtpd cgi netrc",
        "wsgiref poplib webbrowser nntplib",
        "smtplib ssl socket xmlrpc mailbox",
    ),
    "files": (
        "os shutil zipfile io _pyio gzip fileinput stat glob genericpath posixpath dbm filecmp",
        "tempfile bz2 fnmatch zipapp",
        "pathlib tarfile lzma ntpath",
    ),
    "concurrency": (
        "asyncio multiprocessing _threading_local signal",
        "subprocess selectors sched",
        "threading concurrent queue",
    ),
    "numbers": (
        "_pydecimal statistics datetime _pydatetime",
        "_strptime zoneinfo colorsys numbers _pylong",
        "random calendar fractions",
    ),
    "language": (
        "typing importlib ast functools enum abc contextlib pkgutil pickletools types weakref",
        "codeop code dataclasses dis",
        "inspect pyclbr symtable tokenize modulefinder runpy imp",
    ),
    "testing": (
        "unittest pdb doctest logging trace profile cgitb",
        "timeit warnings logging.config",
        "bdb traceback pstats tracemalloc",
    ),
    "graphics": (
        "tkinter turtledemo idlelib",
        "tkinter.filedialog tkinter.simpledialog tkinter.font tkinter.dnd tkinter.colorchooser"
        " tkinter.messagebox tkinter.scrolledtext tkinter.tix curses",
        "tkinter.ttk turtle",
    ),
}
_ROWS_PER_LABEL = {"train": 260, "dev": 60, "test": 110}
_ROW_WORDS = range(15, 71)
_ENOUGH_WORDS = 28
_MOST_ROW_SENTENCES = 4


def area_of_module(module: str) -> tuple[str, str] | None:
    """Returns `(label, split)` of a module, or None for a module outside every area."""
    name = module
    while name:
        if name in _PLACES:
            return _PLACES[name]
        name = name.rpartition(".")[0]
    return None


_PLACES = {
    name: (label, split)
    for label, names_by_split in AREAS.items()
    for split, names in zip(SPLITS, names_by_split, strict=True)
    for name in names.split()
}


def labelled_rows(documents: Iterable[Document]) -> dict[str, list[LabelledRow]]:
    """Returns the rows of every split: short passages of docstrings and their area.

    No two splits share a module. Rows of dev and test that repeat the wording of a train row are
    dropped as well, so that the scores speak of text that is really new.
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
        rows_by_split[split].sort(key=lambda row: _checksum(row.text))
        for row in rows_by_split[split]:
            known_wording.update(_wording(row.text))
    return rows_by_split


def _row_texts(document: Document) -> Iterator[str]:
    """Yields passages of one to four neighbouring sentences, none in two passages."""
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
    """Picks by checksum, at most a third from one module, so that no module stands for its area."""
    chosen, per_module = [], Counter()
    for row in sorted(rows, key=lambda row: _checksum(row.text)):
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
