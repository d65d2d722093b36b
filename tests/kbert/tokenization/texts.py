"""Texts for fuzzing tokenization, from the characters on which tokenizers disagree.

Only characters that the running Python knows are drawn: TF-Text's and RE2's tables are newer (Unicode 15
and 16 against Python 3.11's 14), so marks assigned since then are split by the graph and not by Python.
"""

import unicodedata

from hypothesis import strategies as st

# White space of every kind, controls, formats, the replacement character, private use.
BREAKS = " \t\n\r\x0b\x0c\x00\x01\x1c\x85\x97\xa0\u1680\u2009\u2028\u2029\u202f\u3000"
INVISIBLE = "\xad\u200b\u200d\u2060\ufeff\u180e\ufffd\ue000\U000f0000\ufe0f"
# Letters that lower(), NFD, NFKC or a Turkish locale treat specially; half of a syllable.
LETTERS = "abcABCIıİßẞΣςσǅſKﬁÅåéÉñЁё한국ㅎᄒ的学𠀀豈丽ｱガアＡ１Ⅳ½²™ªำ𝔘"
MARKS = "\u0300\u0301\u0307\u0308\u030a\u0345\u0591\u093f\u0e33\u3099\u20dd"
PUNCTUATION = "!#$+,-.'`^~[]{}¡§«…，。、！·\u2010\u2014\u2e2e\u3030😀❤€°"

# The ICU in TensorFlow 2.21 is older still: it leaves the capitals that came with Unicode 14 as they are.
CAPITALS_NOT_LOWERED = frozenset(
    chr(code_point)
    for code_point in (0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8, *range(0x10570, 0x10596))
    if unicodedata.category(chr(code_point)) == "Lu"
)

_any_assigned = st.characters(
    exclude_categories=("Cs", "Cn"), exclude_characters="".join(sorted(CAPITALS_NOT_LOWERED))
)
_characters = st.one_of(
    st.sampled_from("abc "), st.sampled_from(LETTERS), st.sampled_from(BREAKS + INVISIBLE),
    st.sampled_from(MARKS + PUNCTUATION), _any_assigned,
)  # fmt: skip

texts = st.text(_characters, max_size=24)
batches_of_texts = st.lists(texts, min_size=1, max_size=32)


def vocabulary_tokens() -> list[str]:
    """Pieces that spell some of these texts and leave others unknown."""
    characters = sorted(set("abcdiklnsßςσéеё·ﬁ½²™…，!,[]#²的学豈ᄒ한ำ" + "\u0301\u0308" + "\ue000"))
    longer = ["ab", "abc", "##bc", "##ab", "σσ", "##σς", "a\u0301", "##é", "##ss"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    upper = ["A", "##A", "B", "Σ", "##Σ", "İ", "É", "AB"]
    inner = [f"##{character}" for character in characters]
    return list(dict.fromkeys(special + characters + inner + longer + upper))
