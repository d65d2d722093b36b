import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrecords_tools.corpus.documents import (
    LANGUAGES,
    SentenceSplitter,
    TextFormat,
    plan_units,
    read_documents,
)
from tfrecords_tools.corpus.problems import Problems

# One passage a language, `|` between its sentences, with the abbreviations and marks of the language.
PASSAGES = {
    "en": "Dr. Smith paid $3.50 on Jan. 3.|“Did he?” asked J. R. Brown, e.g. at St. Paul’s.|Yes!|So he did…",
    "de": "Am 3. Mai kam Dr. Weber, z. B. mit dem Zug.|Niemand fragte ihn.|Warum?",
    "fr": "Voir p.\xa012 et fig. 3.|Il pleuvait, etc. et voilà.|Pourquoi\u202f?",
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


@settings(max_examples=200)
@given(
    st.sampled_from(["en", "de", "ja", "hi"]),
    st.text(alphabet="aB1 .!?\u3002\u0964\"'\u201d()\u2026\t\xa0\x85\u3000", max_size=40),
)
def test_nothing_but_white_space_between_sentences_is_lost(language, line):
    sentences = [sentence.decode() for sentence in SentenceSplitter(language)(line.encode())]
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
    rest = line
    for sentence in sentences:
        assert rest.lstrip().startswith(sentence)
        rest = rest.lstrip().removeprefix(sentence)
    assert not rest.strip()


def test_lines_of_documents_become_sentences(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Mr. Brown came. He sat.\nIt rained.\n\nNew. Day.\n", encoding="utf-8")
    (unit,) = plan_units([path], 1000)
    documents = list(read_documents(unit, TextFormat(split_sentences="en"), Problems()))
    assert documents == [[b"Mr. Brown came.", b"He sat.", b"It rained."], [b"New.", b"Day."]]
