"""Text of docstrings and help topics to sentences."""

import pytest

from tests.tfrecords_tools.corpus.embedded_text.small_library import TOPIC
from tfrecords_tools.corpus.embedded_text.sentences import (
    plain_text,
    prose_sentences,
    reads_like_english,
    split_sentences,
)


def test_topic_keeps_its_sentences_and_loses_markup():
    assert list(prose_sentences(TOPIC)) == [
        "Assert statements are a convenient way to insert debugging assertions into a program.",
        'The simple form, "assert expression", is checked (e.g. at run time) by the interpreter.',
        "It may be switched off.",
    ]


def test_abbreviations_do_not_end_a_sentence():
    text = "Use a name, e.g. Queue, or Mr. Smith's.  n is a number. Is it? Yes (it is). Done"
    assert split_sentences(text) == [
        "Use a name, e.g. Queue, or Mr. Smith's.",
        "n is a number.",
        "Is it?",
        "Yes (it is).",
        "Done",
    ]


def test_old_style_quotes_lose_their_backquote():
    text = "Add `name' to the archive. `name' is the name of a ``file``."
    assert plain_text(text) == ("Add name to the archive. name is the name of a file.")


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
    assert not reads_like_english(text)
