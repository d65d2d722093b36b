"""The pages for readers and the names in code: the field's own words, short lines, a README of one screen."""

import ast
import re

import pytest

from tests.docs.markdown import pages, prose, read
from tests.places import REPOSITORY

# Words of our own where the field has better ones: positions, tokens, pipeline, again.
NOT_OURS = re.compile(r"(?i)\b(?:roads?|hops?|anew|walks?|places)\b")
LONGEST = 120
# Names say what a thing is, and a function what it returns: `read_vocabulary`, not `vocabulary_of`.
NO_NAMES = re.compile(
    r"_?(?:places?|found|one|it|there|asked|asking|begins|begun|given|said|says|told|things?|anew|of_\w+)"
)
NO_FUNCTIONS = re.compile(r"\w+_of")


@pytest.mark.parametrize("page", [page for page in pages() if page != "CHANGELOG.md"])
def test_the_words_are_those_of_the_field(page):
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", prose(read(page)))
    assert [line for line in text.splitlines() if NOT_OURS.search(line)] == []


@pytest.mark.parametrize("page", [page for page in pages() if page != "CHANGELOG.md"])
def test_lines_of_text_are_short(page):
    """Tables have a line for each row; a word or a link cannot be broken."""
    lines = [line for line in prose(read(page)).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > LONGEST and " " in line.strip()] == []


def test_the_readme_is_one_screen():
    words = [word for word in read("README.md").split() if re.search(r"\w", word)]
    assert len(words) < 700


def test_the_readme_has_the_command_that_ci_runs():
    shown = set(re.findall(r"^    (make \S+)", read("README.md"), re.MULTILINE))
    assert {"make quickstart", "make test"} <= shown and "\nmake test\n" in read(".ci/run")


@pytest.mark.parametrize("package", ["kbert", "tfrecords_tools", "export"])
def test_names_say_what_they_hold(package):
    """Of variables, arguments, functions and classes."""
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        names = {getattr(node, key, None) or "" for node in nodes for key in ("arg", "id", "name")}
        riddles = {*filter(NO_NAMES.fullmatch, names), *filter(NO_FUNCTIONS.fullmatch, functions)}
        assert riddles == set(), path
