"""The library's files -> documents of sentences; no sentence occurs twice."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tfrecords_tools.corpus.embedded_text.library_files import check_library, module_files, read_topics
from tfrecords_tools.corpus.embedded_text.sentences import is_legal, prose_sentences, sentence_words

_Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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
    """Yields a document for the module itself, then one for every class with enough sentences."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    of_module: list[Passage] = []
    of_class: dict[ast.ClassDef, list[Passage]] = {node: [] for node in classes}

    definitions = list(_definitions(tree))
    for line_number, passage in sorted([*_docstrings(definitions), *_comments(definitions, source)]):
        owner = next((c for c in classes if c.lineno <= line_number <= (c.end_lineno or 0)), None)
        (of_module if owner is None else of_class[owner]).append(passage)

    for passages in of_class.values():
        if sum(len(passage.sentences) for passage in passages) < _FEWEST_CLASS_SENTENCES:
            of_module.extend(passages)
    yield Document(name, tuple(of_module))
    for passages in of_class.values():
        if sum(len(passage.sentences) for passage in passages) >= _FEWEST_CLASS_SENTENCES:
            yield Document(name, tuple(passages))


def _definitions(node: ast.AST) -> Iterator[_Definition]:
    """Yields the module, classes and functions of a tree, without visiting its expressions."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for block in ("body", "orelse", "handlers", "finalbody"):
        children = getattr(node, block, ())
        for child in children if isinstance(children, list) else ():
            yield from _definitions(child)


def _docstrings(definitions: list[_Definition]) -> Iterator[tuple[int, Passage]]:
    for node in definitions:
        if docstring := ast.get_docstring(node):
            if sentences := tuple(prose_sentences(docstring)):
                yield node.body[0].lineno, Passage("docstring", sentences)


def _comments(definitions: list[_Definition], source: str) -> Iterator[tuple[int, Passage]]:
    """Yields the comments that stand on lines of their own, neighbouring lines together."""
    inside_docstrings = {
        number
        for node in definitions
        if ast.get_docstring(node, clean=False)
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    block: list[str] = []
    for number, line in enumerate([*source.split("\n"), ""], start=1):
        stripped = line.strip()
        if stripped.startswith("#") and number not in inside_docstrings:
            block.append(stripped.lstrip("#"))
            continue
        if block and not is_legal(" ".join(block)):
            if sentences := tuple(prose_sentences(inspect.cleandoc("\n".join(["", *block])))):
                yield number - len(block), Passage("comment", sentences)
        block = []


def documents(library: Path) -> list[Document]:
    """Reads the whole library: help topics first, then modules; no sentence occurs twice."""
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
