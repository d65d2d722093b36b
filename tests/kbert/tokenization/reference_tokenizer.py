"""The original BERT's tokenization rules in plain Python, to compare the graph ops with.

Written from a description of google-research/bert, tokenization.py (BasicTokenizer, WordpieceTokenizer),
rule by rule and without looking at kbert's regular expressions. Categories come from `unicodedata`, so
the answer is that of the running Python's Unicode version.
"""

import unicodedata


def split_words(
    text: str, do_lower_case: bool, strip_accents: bool | None = None, tokenize_chinese_chars: bool = True
) -> list[str]:
    """The words and punctuation marks of a text; the last two arguments are those of transformers."""
    words, text = [], _clean(text)
    for word in (_space_ideographs(text) if tokenize_chinese_chars else text).split():
        if do_lower_case:
            word = word.lower()
        if strip_accents or (strip_accents is None and do_lower_case):
            word = _strip_accents(word)
        words.extend(_split_punctuation(word))
    # White space that appears only after splitting or decomposing separates words as well.
    return " ".join(words).split()


def wordpieces(word: str, vocabulary, longest: int = 200) -> list[str]:
    """Greedy longest match first; [UNK] when a rest has no match, or for more than `longest` characters."""
    if len(word) > longest:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def tokenize(text: str, vocabulary, do_lower_case: bool, longest: int = 200, **rules) -> list[str]:
    """The pieces of a text, without [CLS] and [SEP]."""
    words = split_words(text, do_lower_case, **rules)
    return [piece for word in words for piece in wordpieces(word, vocabulary, longest)]


def _clean(text):
    cleaned = []
    for character in text:
        category = unicodedata.category(character)
        if character in " \t\n\r" or category == "Zs":
            cleaned.append(" ")
        elif character not in "\0\ufffd" and category not in ("Cc", "Cf"):
            cleaned.append(character)
    return "".join(cleaned)


def _space_ideographs(text):
    return "".join(f" {character} " if is_ideograph(ord(character)) else character for character in text)


def is_ideograph(code_point):
    return (
        0x4E00 <= code_point <= 0x9FFF
        or 0x3400 <= code_point <= 0x4DBF
        or 0x20000 <= code_point <= 0x2A6DF
        or 0x2A700 <= code_point <= 0x2B73F
        or 0x2B740 <= code_point <= 0x2B81F
        or 0x2B820 <= code_point <= 0x2CEAF
        or 0xF900 <= code_point <= 0xFAFF
        or 0x2F800 <= code_point <= 0x2FA1F
    )


def _strip_accents(word):
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def _split_punctuation(word):
    parts, starts_new = [], True
    for character in word:
        if _is_punctuation(character):
            parts.append(character)
            starts_new = True
        elif starts_new:
            parts.append(character)
            starts_new = False
        else:
            parts[-1] += character
    return parts


def _is_punctuation(character):
    code_point = ord(character)
    if 33 <= code_point <= 47 or 58 <= code_point <= 64 or 91 <= code_point <= 96 or 123 <= code_point <= 126:
        return True
    return unicodedata.category(character).startswith("P")
