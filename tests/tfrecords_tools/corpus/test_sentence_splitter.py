import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrecords_tools.corpus.documents import Problems, TextFormat, plan_units, read_documents
from tfrecords_tools.corpus.sentence_splitter import LANGUAGES, SentenceSplitter

NOVELS = Path(__file__).parents[4] / "shared" / "data" / "eltec_eng"

# One passage a language, `|` between its sentences, with the abbreviations and marks of the language.
PASSAGES = {
    "en": "Dr. Smith paid $3.50 on Jan. 3.|“Did he?” asked J. R. Brown, e.g. at St. Paul’s.|Yes!|So he did…",
    "de": "Am 3. Mai kam Dr. Weber, z. B. mit dem Zug.|Niemand fragte ihn.|Warum?",
    "fr": "Voir p. 12 et fig. 3.|Il pleuvait, etc. et voilà.|Pourquoi ?",
    "ru": "Он пришёл в 5 ч. утра.|Он сел.|Зачем?",
    "hi": "वह आया।|वह बैठा।",
    "ja": "これは本です。|はい！|「そうです。」",
    "zh": "这是一本书。|是吗？|是！",
}


@pytest.mark.parametrize("language", PASSAGES)
def test_passages_are_cut_into_their_sentences(language):
    passage = PASSAGES[language]
    between = "" if language in ("ja", "zh") else " "
    sentences = SentenceSplitter(language)(passage.replace("|", between).encode())
    assert [sentence.decode() for sentence in sentences] == passage.split("|")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_named_can_be_cut(language):
    assert b"".join(SentenceSplitter(language)("A. b! 一。 d".encode())) != b""


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["en", "de", "ja", "hi"]),
    st.text(alphabet="aB1 .!?\u3002\u0964\"'\u201d()\u2026\t\xa0", max_size=40),
)
def test_nothing_but_white_space_is_lost(language, line):
    sentences = [sentence.decode() for sentence in SentenceSplitter(language)(line.encode())]
    assert "".join("".join(sentences).split()) == "".join(line.split())
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_white_space_of_unicode_is_taken(language):
    for code in range(0x80, 0x3001):
        if chr(code).isspace():
            assert SentenceSplitter(language)(
                f"'((\u201d\u2026\u201d.B{chr(code)}.\t\t J.{chr(code)}S. Bach.".encode()
            )


def test_lines_of_documents_become_sentences(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Mr. Brown came. He sat.\nIt rained.\n\nNew. Day.\n", encoding="utf-8")
    (unit,) = plan_units([path], 1000)
    documents = list(read_documents(unit, TextFormat(split_sentences="en"), Problems()))
    assert documents == [[b"Mr. Brown came.", b"He sat.", b"It rained."], [b"New.", b"Day."]]


def test_paragraphs_of_real_novels_keep_their_text():
    if not NOVELS.is_dir():
        pytest.skip(f"NOT CHECKED ON REAL TEXT: {NOVELS} is missing")
    (unit,) = plan_units([min(NOVELS.glob("*.txt"))], 1 << 24)
    split = SentenceSplitter("en")
    lines = [line for document in read_documents(unit, TextFormat(), Problems()) for line in document]
    cut = [split(line) for line in lines]
    assert [b"".join(b"".join(sentences).split()) for sentences in cut] == [
        b"".join(line.split()) for line in lines
    ]
    assert sum(map(len, cut)) > 1.5 * len(lines)


def test_an_unknown_language_and_a_missing_package_are_named(monkeypatch):
    with pytest.raises(ValueError, match="split_sentences='english' is no language .* am, ar, .* en, "):
        SentenceSplitter("english")
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(
        ValueError, match=r"split_sentences='en' needs sentencex, .* pip install sentencex==\d"
    ):
        SentenceSplitter("en")
