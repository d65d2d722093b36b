"""The characters on which this Python's Unicode tables and TensorFlow's differ, computed from both.

The original BERT uses Python's tables. kbert uses those of RE2 (classes of characters) and ICU (case,
decomposition, the order of marks). Each has its own Unicode version. Every property of a single character
that the rules use is computed here on both sides, with their basic functions and without kbert's code. Where
all results agree, there is nothing left in which a tokenizer may differ. Where one result differs, no
tokenizer in the graph can agree with Python.
"""

import functools
import unicodedata
from typing import NamedTuple

import pytest
import tensorflow as tf

from tests.kbert.tokenization.reference_tokenizer import is_ideograph

tf_text = pytest.importorskip("tensorflow_text")
_SURROGATES = range(0xD800, 0xE000)  # no characters: they have no UTF-8


class Residue(NamedTuple):
    """Characters on which the tables differ.

    Attributes:
      cased: in a way that matters without lower-casing.
      alone: in a way that matters for the character by itself with lower-casing.
      uncased: in any way that matters with lower-casing, next to other characters.
    """

    cased: frozenset[str]
    alone: frozenset[str]
    uncased: frozenset[str]


@functools.cache
def all_characters() -> list[str]:
    """Every code point that UTF-8 can write, assigned or not."""
    return [chr(code) for code in range(0x110000) if code not in _SURROGATES]


@functools.cache
def residue() -> Residue:
    # No version of Unicode has characters in planes 4 to 13, and planes 15 and 16 are private use.
    characters = [c for c in all_characters() if c < "\U00040000" or "\U000e0000" <= c < "\U000f0000"]
    categories = [unicodedata.category(character) for character in characters]
    tensor = _tensor(characters)

    def differing_class(pattern, belongs):
        matches = tf.strings.regex_full_match(tensor, pattern).numpy().tolist()
        rows = zip(characters, categories, matches, strict=True)
        return {character for character, category, matched in rows if matched != belongs(category)}

    cased = (
        differing_class(r"\p{Zs}", lambda category: category == "Zs")
        | differing_class(r"[\p{Cc}\p{Cf}]", lambda category: category in ("Cc", "Cf"))
        | differing_class(r"\p{P}", lambda category: category.startswith("P"))
    )
    lowered = functools.partial(tf.strings.lower, encoding="utf-8")
    decomposed = functools.partial(tf_text.normalize_utf8, normalization_form="NFD")
    decompose = functools.partial(unicodedata.normalize, "NFD")
    alone = (
        cased
        | differing_class(r"\p{Mn}", lambda category: category == "Mn")
        | _differing(characters, "{}", lowered, str.lower)
        | _differing(characters, "{}", decomposed, decompose)
    )
    # Neighbours matter only for characters that at least one side knows. Ideographs have no neighbours,
    # because spaces are put around them; private-use characters all behave alike.
    known = tf.strings.regex_full_match(tensor, r"[\pL\pM\pN\pP\pS\pZ]").numpy().tolist()
    rows = zip(characters, categories, known, strict=True)
    in_company = [
        character
        for character, category, is_known in rows
        if (is_known or category != "Cn") and category != "Co" and not is_ideograph(ord(character))
    ]
    uncased = (
        alone
        # Whether the rule for the final sigma treats it as a letter, or ignores it.
        | _differing(in_company, "a{}Σ", lowered, str.lower)
        | _differing(in_company, "aΣ{}b", lowered, str.lower)
        # Whether marks are reordered across it.
        | _differing(in_company, "a\u0345{}\u0334", decomposed, decompose)
    )
    return Residue(frozenset(cased), frozenset(alone), frozenset(uncased))


def _differing(characters, template, graph, python) -> set[str]:
    """Characters for which the texts made of the template come out differently."""
    texts = [template.replace("{}", character) for character in characters]
    results = graph(_tensor(texts)).numpy().tolist()
    rows = zip(characters, texts, results, strict=True)
    # U+0000 is dropped before any of this, and not every function can handle it.
    return {c for c, text, result in rows if c != "\0" and python(text).encode("utf-8") != result}


def _tensor(texts):
    return tf.constant([text.encode("utf-8") for text in texts])
