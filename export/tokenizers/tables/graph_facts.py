"""What the tokenizer in the graph does with every character of Unicode, found out by asking it.

Nothing here knows a Unicode table or a rule of kbert's: only what `split_words` answers to short texts. So
the facts are those of the RE2 and ICU that this TensorFlow and TF-Text were built with, whichever they are.
"""

from typing import Any

import tensorflow as tf

from kbert.tokenization.text_ops import uses_core_ops
from kbert.tokenization.word_splitter import split_words

SURROGATES = range(0xD800, 0xE000)  # no characters: they have no UTF-8
# Hangul syllables fold by arithmetic (The Unicode Standard, 3.12), not by table.
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
_CHARACTERS = [code for code in range(0x110000) if code not in SURROGATES]
_TEXTS_PER_CALL = 200_000
# Two marks that lower-casing keeps; NFD puts the second before the first.
_LATER_MARK, _EARLIER_MARK = "\U0001d16d", "\U0001d165"


def graph_facts() -> dict[str, Any]:
    """Asks the graph about each of the 1,112,064 code points; takes about fifteen seconds.

    Returns:
      Sets of code points, and what single ones become:
      spaces: end a word.
      dropped: vanish before anything else.
      punctuation: are a word each.
      ideographs: are a word each where `tokenize_chinese_chars` is true.
      accents: vanish when accents are stripped.
      fixed_accents: those of them across which marks are not reordered (combining class 0).
      cased, case_ignorable: what decides on a final sigma, looked at before lower-casing: a cased character
        makes a word of letters, a case-ignorable one is looked past.
      lowered: what a character becomes by lower-casing, where that is another text: code point -> code
        points.
      decomposed: the same by decomposing and dropping accents. Hangul syllables are not in it.
      mark_order: the marks that stripping accents keeps and NFD reorders: code point -> rank from 1; those
        side by side are sorted by it.

    Raises:
      RuntimeError: when an answer is none of those that the rules can give, and without TF-Text: ops of the
        core would answer from these very facts.
    """
    if uses_core_ops():
        raise RuntimeError("the facts are those of TF-Text, which cannot be imported; install it")
    spaces, dropped, alone = _classes()
    ideographs = _joined(sorted(alone))
    rest = [code for code in _CHARACTERS if code not in spaces and code not in dropped]
    decomposed = _becomes(rest, do_lower_case=False, strip_accents=True)
    accents = {code for code, codes in decomposed.items() if not codes}
    moving = _reordered(rest)
    cased, case_ignorable = _around_sigma(rest)
    return {
        "spaces": spaces,
        "dropped": dropped,
        "punctuation": alone - ideographs,
        "ideographs": ideographs,
        "accents": accents,
        "fixed_accents": accents - moving,
        "cased": cased,
        "case_ignorable": case_ignorable,
        "lowered": _becomes(rest, do_lower_case=True, strip_accents=False),
        "decomposed": {c: to for c, to in decomposed.items() if to and c not in HANGUL_SYLLABLES},
        "mark_order": _ranks(sorted(moving - accents)),
    }


def _classes():
    spaces, dropped, alone = set(), set(), set()
    for code, words in zip(_CHARACTERS, _words("a{}b", _CHARACTERS, do_lower_case=False), strict=True):
        if words == "a b":
            spaces.add(code)
        elif words == "ab":
            dropped.add(code)
        elif words == f"a {chr(code)} b":
            alone.add(code)
        elif words != f"a{chr(code)}b":
            raise RuntimeError(f"U+{code:04X} between letters became {words!r}, which no rule gives.")
    return spaces, dropped, alone


def _joined(codes) -> set[int]:
    """Those that are no word of their own where ideographs are none."""
    words = _words("a{}b", codes, do_lower_case=False, tokenize_chinese_chars=False)
    return {code for code, joined in zip(codes, words, strict=True) if " " not in joined}


def _becomes(codes, **rules) -> dict[int, tuple[int, ...]]:
    answers = zip(codes, _words("a{}b", codes, **rules), strict=True)
    becomes = {code: words.replace(" ", "").removeprefix("a").removesuffix("b") for code, words in answers}
    return {code: tuple(map(ord, text)) for code, text in becomes.items() if text != chr(code)}


def _around_sigma(codes):
    """Behind a cased character a capital sigma becomes the final one, also past a case-ignorable one."""
    behind = [words.endswith("ς") for words in _words("{}Σ", codes)]
    past = [words.endswith("ς") for words in _words("a{}Σ", codes)]
    cased = {code for code, final in zip(codes, behind, strict=True) if final}
    return cased, {code for code, final in zip(codes, past, strict=True) if final} - cased


def _reordered(codes) -> set[int]:
    """The characters that let the two marks around them change places: of a combining class other than 0."""
    answers = zip(codes, _words(f"a{_LATER_MARK}{{}}{_EARLIER_MARK}", codes), strict=True)
    return {code for code, words in answers if -1 < words.find(_EARLIER_MARK) < words.find(_LATER_MARK)}


def _ranks(marks) -> dict[int, int]:
    """A rank for each mark: 1 and the number of marks that are put before it."""
    ranks = dict.fromkeys(marks, 1)
    for mark in marks:
        answers = zip(marks, _words(f"a{chr(mark)}{{}}", marks), strict=True)
        ranks[mark] += sum(words == f"a{chr(other)}{chr(mark)}" for other, words in answers if other != mark)
    return ranks


def _words(template, codes, do_lower_case=True, **rules):
    """The words of the text that each character makes of the template, joined by spaces."""
    for start in range(0, len(codes), _TEXTS_PER_CALL):
        some = codes[start : start + _TEXTS_PER_CALL]
        texts = tf.constant([template.replace("{}", chr(code)).encode() for code in some])
        words = tf.strings.reduce_join(split_words(texts, do_lower_case, **rules), axis=-1, separator=" ")
        yield from (joined.decode() for joined in words.numpy().tolist())
