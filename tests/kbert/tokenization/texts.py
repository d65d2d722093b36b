"""Texts for fuzzing tokenization, from the characters on which tokenizers disagree.

Any character of Unicode is drawn, assigned or not, except those on which Python's tables and TensorFlow's
differ (unicode_residue.py). Nothing is computed before the first text is drawn.
"""

from hypothesis import strategies as st

from tests.kbert.tokenization.unicode_residue import residue

# White space of every kind, controls, formats, the replacement character, private use.
BREAKS = " \t\n\r\x0b\x0c\x00\x01\x1c\x85\x97\xa0\u1680\u2009\u2028\u2029\u202f\u3000"
INVISIBLE = "\xad\u200b\u200d\u2060\ufeff\u180e\ufffd\ue000\U000f0000\ufe0f\U000e0001"
# Letters that lower(), NFD, NFKC or a Turkish locale treat specially; half of a syllable.
LETTERS = "abcABCIıİßẞΣςσǅſKﬁÅåéÉñЁё한국ㅎᄒ的学𠀀豈丽ｱガアＡ１Ⅳ½²™ªำ𝔘𐐀\ua7c5"
MARKS = "\u0300\u0301\u0307\u0308\u030a\u0323\u0334\u0345\u0591\u093f\u0e33\u1dca\u3099\u20dd\U0001d165"
PUNCTUATION = "!#$+,-.'`^~[]{}¡§«…，。、！·\u2010\u2014\u2e2e\u3030😀❤€°"
# Code points next to the surrogates and at the ends of planes and ideograph blocks; some are no characters.
EDGES = (
    "\ud7ff\ue000\ufdd0\ufffe\uffff\U00010000\U0001ffff\U000e0100\U0010fffd\U0010ffff"
    "\u33ff\u3400\u4dbf\u4dc0\u4dff\u4e00\u9fff\ua000\uf8ff\uf900\ufaff\ufb00\U0001ffff\U00020000\U0002a6df"
    "\U0002a6e0\U0002a700\U0002b73f\U0002b740\U0002b81f\U0002b820\U0002ceaf\U0002ceb0\U0002f7ff\U0002f800"
    "\U0002fa1f\U0002fa20"
)
# What a text may hold that looks like a piece, and words around the longest.
LITERALS = ["[MASK]", "[SEP]", "[UNK]", "[unused5]", "##ab", "##", "[mask]"]
LONG_WORDS = [letter * length for letter in ("a", "é", "σ", "𐐀", "e\u0301") for length in (199, 200, 201)]


def _characters():
    any_character = st.characters(
        exclude_categories=("Cs",), exclude_characters="".join(sorted(residue().uncased))
    )
    sampled = [st.sampled_from(group) for group in (LETTERS, BREAKS + INVISIBLE, MARKS + PUNCTUATION, EDGES)]
    return st.one_of(st.sampled_from("abc "), *sampled, any_character, any_character)


def _texts():
    plain = st.text(_characters(), max_size=24)
    parts = st.one_of(plain, st.sampled_from(LITERALS), st.sampled_from(LONG_WORDS))
    return st.one_of(plain, plain, st.lists(parts, max_size=4).map("".join))


# Invalid UTF-8: lone and cut-off bytes, overlong forms, surrogates, code points beyond the last plane.
_BROKEN = [
    *(b"\x80", b"\xbf", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80"),
    *(b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf"),
    *(
        b"\xed\xa0\xbd\xed\xb8\x80",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xfe",
    ),
    *(b"\xfe", b"\xff"),
]


def _byte_strings():
    parts = st.one_of(
        st.text(_characters(), max_size=8).map(str.encode), st.sampled_from(_BROKEN), st.binary(max_size=6)
    )
    joined = st.lists(parts, max_size=6).map(b"".join)
    # Broken bytes may, with their neighbours, spell a character that must not be drawn.
    return joined.filter(lambda row: residue().uncased.isdisjoint(row.decode("utf-8", errors="ignore")))


texts = st.deferred(_texts)
batches_of_texts = st.lists(texts, min_size=1, max_size=32)
byte_strings = st.deferred(_byte_strings)


def vocabulary_tokens() -> list[str]:
    """Pieces that spell some of these texts and leave others unknown."""
    characters = sorted(set("abcdiklnsßςσéеё·ﬁ½²™…，!,[]#²的学豈ᄒ한ำ𐐨" + "\u0301\u0308" + "\ue000"))
    longer = ["ab", "abc", "##bc", "##ab", "σσ", "##σς", "a\u0301", "##é", "##ss"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    upper = ["A", "##A", "B", "Σ", "##Σ", "İ", "É", "AB"]
    inner = [f"##{character}" for character in characters]
    return list(dict.fromkeys(special + characters + inner + longer + upper))
