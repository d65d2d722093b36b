"""Words of raw text: their places, and what holds together."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.text_words import find_words
from kbert.tokenization.word_splitter import split_words

find = tf.function(find_words, input_signature=[tf.TensorSpec([None], tf.string)])


def words_of(text):
    (words,) = find(tf.constant([text])).words.to_list()
    return [word.decode() for word in words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He (Smith) said: \"No!\"", ["He", "(", "Smith", ")", "said", ":", '"', "No", "!", '"']),
        ("U.S. aid, the U.N.-backed plan.", ["U.S.", "aid", ",", "the", "U.N.-backed", "plan", "."]),
        ("J. Smith in 1996. At 9 a.m.", ["J.", "Smith", "in", "1996", ".", "At", "9", "a.m."]),
        ("Germany's we'll O'Brien don't", ["Germany", "'s", "we", "'ll", "O'Brien", "don't"]),
        ("it's. it‘s IT'S wouldn't've 1990's", "it 's . it ‘s IT 'S wouldn't 've 1990 's".split()),
        ("he's/she's Moody's/S&P T's&C's", "he 's / she 's Moody 's / S&P T 's & C 's".split()),
        ("York's\u2011based", ["York", "'s", "\u2011", "based"]),
        ("York's-based it's.Then 's-Hertogenbosch", "York 's - based it 's . Then ' s-Hertogenbosch".split()),
        ("Ankara'da 1919’da Ankara'sı Türkiye'dü", ["Ankara'da", "1919’da", "Ankara'sı", "Türkiye'dü"]),
        ("İzmir'li A.B.D.'de so'm yo'l o‘zbek l'été", "İzmir'li A.B.D.'de so 'm yo'l o‘zbek l'été".split()),
        ("Germany 's 'más' ’så’", ["Germany", "'s", "'", "más", "'", "’", "så", "’"]),
        ("Sony's\u200b 東's的", ["Sony", "'s\u200b", "東", "'s", "的"]),
        ("col·lecció ինչպե՞ս E‑Mail ·", ["col·lecció", "ինչպե՞ս", "E‑Mail", "·"]),
        ('צה"ל ארה״ב ג׳ורג׳ "אב"', ['צה"ל', "ארה״ב", "ג׳ורג", "׳", '"', "אב", '"']),
        ("١٬٠٠٠ १,००० a,b", ["١٬٠٠٠", "१,०००", "a", ",", "b"]),
        ("3,000 well-known AT&T 1996-08-30 1/2", ["3,000", "well-known", "AT&T", "1996-08-30", "1/2"]),
        ("US$5 $5 5€ 10% +44", ["US$", "5", "$", "5", "5", "€", "10", "%", "+44"]),
        ("wait... no -- yes", ["wait", "...", "no", "--", "yes"]),
        ("word—word", ["word", "—", "word"]),
        ("中国 in Ünïcödé", ["中", "国", "in", "Ünïcödé"]),
        ("see http://x.org/a?b", ["see", "http://x.org/a", "?", "b"]),
        ("I ❤️ Paris.", ["I", "❤️", "Paris", "."]),  # with U+FE0F, as all hearts of phones
        ("#️⃣1️⃣ 👩‍❤️‍👨", ["#️⃣", "1️⃣", "👩", "❤️", "👨"]),
        ("葛\U000e0100城 -\u0301", ["葛\U000e0100", "城", "-\u0301"]),
        (" \t\n\u3000 \ufe0f", []),
        ("\u200b \x00 a\u200bb", ["a\u200bb"]),  # WordPiece drops these characters
    ],
)  # fmt: skip
def test_words_by_hand(text, expected):
    assert words_of(text) == expected


UNSEEN = "\u200b\u200d\u0301\ufe0f\u20e3\U000e0100"
PIECES = st.sampled_from([*"aZé中1.,'’-$ \t\n\x00\x1e😀❤#(/", *UNSEEN, "U.S.", "'s", "3,000", "--"])


@pytest.mark.slow
@settings(max_examples=100)
@given(texts=st.lists(st.lists(PIECES, max_size=12).map("".join), max_size=8))
def test_places_are_those_of_the_words_and_leave_only_what_is_no_word_and_wordpiece_sees_each(texts):
    """A word without a token would get [UNK] from a tagger, and a label."""
    found = find(tf.constant(texts, tf.string))
    for text, words, starts, ends in zip(texts, *(values.to_list() for values in found), strict=True):
        end_before, rest = 0, ""
        for word, start, end in zip(words, starts, ends, strict=True):
            assert end_before <= start < end <= len(text)
            assert word.decode().replace("\x1f", "\x1e") == text[start:end].replace("\x1f", "\x1e")
            rest, end_before = rest + text[end_before:start], end
        rest += text[end_before:]
        assert not rest.strip(f" \t\n\x00\x1e{UNSEEN}")
    assert all(split_words(found.words.flat_values, do_lower_case=True).row_lengths().numpy())


def test_broken_bytes_are_left_out():
    words, starts, ends = find(tf.constant([b"a\xffb c\xff", b"\xff"]))
    assert words.to_list() == [[b"ab", b"c"], []]
    assert starts.to_list() == [[0, 3], []] and ends.to_list() == [[2, 4], []]
