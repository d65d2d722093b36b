"""The text that comes with CPython: clean, split without leaks, written whole or not at all."""

import re
import subprocess
from pathlib import Path

import pytest

from tfrecords_tools import write_embedded_text
from tfrecords_tools.corpus import embedded_text

TOPIC = """The "assert" statement
**********************

Assert statements are a convenient way to insert *debugging assertions* into a program:

   assert_stmt ::= "assert" expression ["," expression]

The simple form, "assert expression", is checked (e.g. at run time) by the
interpreter [1]. It may be switched off.

New in version 3.1.
"""
MODULE = '''# Copyright (c) somebody. Permission is given to do this and that.

"""Queues for threads.

This module has a :class:`Queue` that is shared by ``threads``.  See
`the manual <https://docs.python.org>`_ for the pre-
arranged order of the items::

    queue = Queue()  # This is only an example in the manual.

>>> Queue()
A line of output that is not for the reader.
"""

def put(item):
    """put(item) -> None

    Put an item into the queue

    item -- The item that is put at the end of the queue.
    """
    # The lock is held while the item is stored,
    # because two threads may come at the same time.
    # queue.append(item)
'''


@pytest.fixture
def small_library(tmp_path: Path) -> Path:
    library = tmp_path / "library"
    (library / "pydoc_data").mkdir(parents=True)
    (library / "pydoc_data" / "topics.py").write_text(f"topics = {{'assert': {TOPIC!r}}}\n")
    (library / "queue.py").write_text(MODULE)
    (library / "stray_script.py").write_text('"""This is not a part of the library."""\n')
    (library / "json" / "tests").mkdir(parents=True)
    (library / "json" / "tests" / "test_x.py").write_text('"""This is a test of the library."""')
    return library


@pytest.fixture(scope="session")
def real_documents() -> list[embedded_text.Document]:
    return embedded_text.documents(embedded_text.standard_library_folder())


@pytest.fixture(scope="session")
def real_rows(real_documents) -> dict[str, list[embedded_text.LabelledRow]]:
    return embedded_text.labelled_rows(real_documents)


# ---------------------------------------------------------------------- text to sentences


def test_topic_keeps_its_sentences_and_loses_markup():
    assert list(embedded_text.prose_sentences(TOPIC)) == [
        "Assert statements are a convenient way to insert debugging assertions into a program.",
        'The simple form, "assert expression", is checked (e.g. at run time) by the interpreter.',
        "It may be switched off.",
    ]


def test_module_gives_docstrings_and_comments_in_reading_order():
    (document,) = embedded_text.module_documents("queue", MODULE)
    assert document.sentences == (
        "This module has a Queue that is shared by threads.",
        "See the manual for the pre-arranged order of the items.",
        "Put an item into the queue.",
        "The item that is put at the end of the queue.",
        "The lock is held while the item is stored, because two threads may come at the same time.",
    )


def test_abbreviations_do_not_end_a_sentence():
    text = "Use a name, e.g. Queue, or Mr. Smith's.  n is a number. Is it? Yes (it is). Done"
    assert embedded_text.split_sentences(text) == [
        "Use a name, e.g. Queue, or Mr. Smith's.",
        "n is a number.",
        "Is it?",
        "Yes (it is).",
        "Done",
    ]


def test_old_style_quotes_lose_their_backquote():
    text = "Add `name' to the archive. `name' is the name of a ``file``."
    assert embedded_text.plain_text(text) == ("Add name to the archive. name is the name of a file.")


@pytest.mark.parametrize(
    "text",
    [
        "queue = Queue(maxsize=0) if x else None.",
        "and the rest of a wrapped sentence that is cut.",
        "Return the item with an (open parenthesis.",
        "See https://docs.python.org for all of the rest.",
        "Too short.",
        "Löwis is the author of this module.",
    ],
)
def test_code_and_fragments_are_not_english(text):
    assert not embedded_text.reads_like_english(text)


# ---------------------------------------------------------------------- the real library


def test_no_markup_is_left(real_documents):
    markup = re.compile(r"::|:\w+:`|`|>>>|\*\w|[{}|\\]|https?://|\s\s|\t|^\s|\s$")
    left = [s for d in real_documents for s in d.sentences if markup.search(s)]
    assert left == []


def test_there_is_enough_text_and_no_sentence_twice(real_documents):
    sentences = [sentence for d in real_documents for sentence in d.sentences]
    assert len(set(sentences)) == len(sentences) > 15_000
    assert sum(map(len, sentences)) > 1_200_000
    assert all(len(document.sentences) >= 2 for document in real_documents)


def test_heldout_shares_no_source_and_no_sentence_with_train(real_documents):
    train, heldout = embedded_text.split_documents(real_documents)
    assert {d.source for d in train}.isdisjoint(d.source for d in heldout)
    train_sentences = {s for d in train for s in d.sentences}
    heldout_sentences = {s for d in heldout for s in d.sentences}
    assert train_sentences.isdisjoint(heldout_sentences)
    share = len(heldout_sentences) / (len(train_sentences) + len(heldout_sentences))
    assert 0.03 < share <= 0.05
    assert len({d.source for d in heldout}) > 10


def test_labelled_splits_share_no_module_and_no_sentence(real_rows):
    modules = [{row.module for row in rows} for rows in real_rows.values()]
    sentences = [
        {sentence for row in rows for sentence in embedded_text.split_sentences(row.text)}
        for rows in real_rows.values()
    ]
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        assert modules[first].isdisjoint(modules[second])
        assert sentences[first].isdisjoint(sentences[second])


def test_every_label_is_in_every_split(real_rows):
    for rows in real_rows.values():
        counts = [sum(row.label == label for row in rows) for label in embedded_text.AREAS]
        assert min(counts) >= 10
        assert max(counts) <= 0.25 * len(rows)


def test_every_row_has_the_label_of_its_module(real_rows):
    for split, rows in real_rows.items():
        for row in rows:
            assert embedded_text.area_of_module(row.module) == (row.label, split)
            assert "\t" not in row.text


def test_the_longest_name_decides_the_area():
    assert embedded_text.area_of_module("tkinter") == ("graphics", "train")
    assert embedded_text.area_of_module("tkinter.ttk") == ("graphics", "test")
    assert embedded_text.area_of_module("email.mime.text") == ("internet", "train")
    assert embedded_text.area_of_module("antigravity") is None


# ---------------------------------------------------------------------- errors and writing


def test_an_incomplete_library_is_named_with_a_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"lacks pydoc_data/topics\.py .* and the \.py sources"):
        embedded_text.documents(tmp_path)
    with pytest.raises(ValueError, match="Use a full CPython"):
        embedded_text.documents(tmp_path)


def test_a_library_without_topics_says_only_that(small_library):
    (small_library / "pydoc_data" / "topics.py").unlink()
    with pytest.raises(ValueError, match="lacks pydoc_data") as error:
        embedded_text.check_library(small_library)
    assert "and the .py sources" not in str(error.value)


def test_tests_and_stray_scripts_are_not_read(small_library):
    assert [name for name, _ in embedded_text.module_files(small_library)] == ["queue"]


def test_the_same_library_gives_the_same_bytes(small_library, tmp_path):
    for name in ("once", "twice"):
        write_embedded_text.write_embedded_text(small_library, tmp_path / name)
    files = [_read_all(tmp_path / name) for name in ("once", "twice")]
    assert files[0] == files[1]
    assert set(files[0]) == write_embedded_text._FILES
    assert files[0]["text/train.txt"].endswith(b"at the same time.\n\n")
    assert files[0]["labelled/train.tsv"] == b"sentence\tlabel\tmodule\n"


def test_an_occupied_folder_is_refused(small_library, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match=r"did not write \(thesis\.txt\).*Choose another folder"):
        write_embedded_text.write_embedded_text(small_library, tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"


def test_an_earlier_output_is_replaced_only_when_asked(small_library, tmp_path):
    out = tmp_path / "out"
    write_embedded_text.write_embedded_text(small_library, out)
    (out / "text" / "train.txt").write_text("changed")
    with pytest.raises(ValueError, match="Add --overwrite"):
        write_embedded_text.write_embedded_text(small_library, out)
    write_embedded_text.write_embedded_text(small_library, out, overwrite=True)
    assert (out / "text" / "train.txt").read_text() != "changed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out"]


@pytest.mark.parametrize("with_earlier_output", [False, True])
def test_a_failed_write_leaves_everything_as_it_was(
    small_library, tmp_path, monkeypatch, with_earlier_output
):
    out = tmp_path / "out"
    if with_earlier_output:
        write_embedded_text.write_embedded_text(small_library, out)
    before = _read_all(tmp_path)

    def disk_is_full(summary):
        raise OSError("No space left on device")

    monkeypatch.setattr(write_embedded_text, "_readme", disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        write_embedded_text.write_embedded_text(small_library, out, overwrite=True)
    assert _read_all(tmp_path) == before


def test_the_library_is_never_written_into(small_library, tmp_path):
    (tmp_path / "link").symlink_to(small_library)
    before = _read_all(small_library)
    for output_dir in (small_library / "text", tmp_path / "link" / "text", small_library, tmp_path):
        with pytest.raises(ValueError, match="the input|lies in the output folder"):
            write_embedded_text.write_embedded_text(small_library, output_dir, overwrite=True)
    assert _read_all(small_library) == before


def test_what_a_killed_run_has_left_goes_away(small_library, tmp_path):
    number = subprocess.Popen(["true"])
    number.wait()
    left = tmp_path / f"out.{number.pid}.tmp"
    left.mkdir()
    write_embedded_text.write_embedded_text(small_library, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out"]


def _read_all(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
