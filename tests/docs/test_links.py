"""Links between the pages, on GitHub and on the site; its list of pages; settings and names they show."""

import re
import tomllib

import pytest

import kbert
from kbert.config import FinetuningConfig, PretrainingConfig
from kbert.config.plain_values import from_dict
from tests.docs.markdown import anchors, blocks, inline_code, links, pages, read
from tests.places import REPOSITORY

# kbert.json lies beside an export; the others are packages of Kotlin.
FILES = {"json", "tokenizer", "sample"}


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    folder = (REPOSITORY / page).parent
    for link in links(read(page)):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (folder / path).resolve() if path else REPOSITORY / page
        assert target.is_file(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{page}: {link}"


def test_the_site_lists_every_page_once():
    """But for the notes, which pages link, and the pages that `make docs` writes."""
    listed = re.findall(r": ((?!reference/)[\w/]+\.md)$", read("mkdocs.yml"), re.MULTILINE)
    there = [page.removeprefix("docs/") for page in pages() if page.startswith("docs/")]
    there = [page for page in there if not page.startswith("notes/")]
    assert sorted(listed) == sorted(there)


def settings(page):
    return [tomllib.loads(block.text) for block in blocks(read(page)) if block.language == "toml"]


@pytest.mark.parametrize("page", [page for page in pages() if settings(page)])
def test_blocks_of_toml_hold_settings_that_there_are(page):
    for values in settings(page):
        errors = []
        for config_class in (FinetuningConfig, PretrainingConfig):
            try:
                from_dict(config_class, values)
            except (ValueError, TypeError) as error:
                errors.append(str(error))
        unknown = [error for error in errors if "unknown key" in error]
        assert len(unknown) < 2, (values, unknown)


@pytest.mark.parametrize("page", pages())
def test_names_of_python_are_those_that_there_are(page):
    """`kbert.name` is public, or a module; blocks of Python compile (those with >>> run elsewhere)."""
    text = read(page)
    python = [block.text for block in blocks(text) if block.language == "python"]
    for code in python:
        assert ">>>" in code or compile(code, page, "exec")
    shown = [code.text for code in inline_code(text) if not code.text.startswith(("python", "kbert "))]
    names = {name for code in (*python, *shown) for name in re.findall(r"(?<![\w./\"])kbert\.(\w+)", code)}
    assert {name for name in names - FILES if not _is_name(name)} == set()


def _is_name(name):
    return name in kbert.__all__ or any((REPOSITORY / "kbert").glob(f"{name}*"))
