"""Paragraphs -> English sentences, without markup."""

import re
from collections.abc import Iterator

from tfrecords_tools.corpus.embedded_text.paragraphs import BULLET, TERM, paragraphs

_LEGAL = re.compile(
    r"copyright|licen[cs]e|permission|warrant|liabl|all rights reserved|redistribut|damages", re.I
)


_LABEL = re.compile(
    r"^(?:Note|Notes|Warning|Caution|Important|See also|Example|Examples|XXX|TODO|NOTE|FIXME|BUG|"
    r"(?:New|Added|Changed|Deprecated)(?: in| since)?(?: version)? [\d.]+(?:, (?:will be )?removed"
    r" in(?: version)? [\d.]+)?)(?:\s*\([\w ]+\))?\s*[:.]\s*"
)
_PLAIN_QUOTES = str.maketrans("‘’“”–—\u00a0", "''\"\"-- ")
_ROLE = re.compile(r":[\w:+-]+:`~?!?([^`<]+?)\s*(?:<[^`>]*>)?`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_*")
_BACKQUOTES = re.compile(r"`(\w[^`'\s]*)'|`+([^`]+)`+_{0,2}")
_STARS = re.compile(r"\*+(?=\S)([^*]+?)(?<=\S)\*+|(?<!\S)\*{1,2}(?=\w)")
_QUOTED_NAME = re.compile(r"\"+([^\"\s]+)\"+")
_REFERENCE = re.compile(r"\s*\[\d+\]_?|\s*\((?:bpo|gh|issue|PEP)[- #]?\d+\)|<[^<>\s]*(?:://|@)[^<>\s]*>")

_ABBREVIATION = re.compile(
    r"\b(?i:e\.g|i\.e|vs|cf|resp|approx|incl|excl|fig|vol|sec|pp|al|mr|mrs|dr|st|eg|ie|viz|"
    r"w\.r\.t|a\.k\.a)\.$|(?:^|[A-Z][a-z]+ )[A-Z]\.$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*(?:(?=\s+[A-Z\"'(\[])|(?=\s{2,}\S))\s+")

_PLAIN_WORD = re.compile(r"^[(\"']*[A-Za-z]+(?:['/-][A-Za-z]+)*[\"')]*[,.;:!?]*[\"')]*$")
_FUNCTION_WORDS = frozenset(
    "a an the this that these those it its is are was were be been has have had do does can could "
    "may might must shall should will would not no if when where which who what whether and or but "
    "of to in on at by for from with without as than then so into".split()
)
_VERB = re.compile(
    r"(?:is|are|was|were|can|may|must|will|should|would|does|do|has|have|cannot|isn't|doesn't|"
    r"defaults?|returns?|takes?|gives?|specif(?:y|ies)|contains?|determines?|allows?|provides?)\b"
)
_CODE = re.compile(r"[{}|\\~^@$`#*]|[<>]\S|\S[<>]|[=/&-]{2}|\s[=+/&<>%-]\s|%[\w(]|:[:/]|\.{4}")
_FEWEST_WORDS, _MOST_WORDS = 4, 90


def plain_text(paragraph: str) -> str:
    """Replaces markup by the words it marks: "``x``", ":func:`x`", "*x*" become "x"."""
    text = paragraph.translate(_PLAIN_QUOTES).replace("…", "...")
    text = re.sub(r"\bXXX\b:?\s*", "", text)
    text = _LABEL.sub("", TERM.sub("", BULLET.sub("", text)))
    text = _LINK.sub(r"\1", _ROLE.sub(r"\1", text))
    text = _BACKQUOTES.sub(lambda match: match[1] or match[2], text)
    text = _QUOTED_NAME.sub(r"\1", _STARS.sub(r"\1", text))
    return _REFERENCE.sub("", text)


def split_sentences(text: str) -> list[str]:
    """Splits where a full stop, question or exclamation mark is followed by a new beginning.

    "e.g. this", "Mr. Smith" and "J. Random Hacker" do not end a sentence. Two blanks after a full
    stop end one even before a small letter, since many sentences here begin with a name: "n is".
    """
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        candidate = text[start : match.end()].rstrip()
        if _ABBREVIATION.search(candidate) or candidate.count("(") > candidate.count(")"):
            continue
        sentences.append(candidate)
        start = match.end()
    return [*sentences, text[start:].strip()]


def reads_like_english(sentence: str) -> bool:
    """True for a whole sentence of mostly plain words; False for code, titles and fragments."""
    words = sentence.split()
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or not sentence.isascii():
        return False
    if _CODE.search(sentence) or sentence[-1] not in ".!?\"')":
        return False
    if sentence.count("(") != sentence.count(")") or sentence.count('"') % 2:
        return False
    if not (sentence[0].isupper() or _begins_with_name(words)):
        return False
    plain = sum(bool(_PLAIN_WORD.match(word)) for word in words)
    function_words = sum(word.lower().strip("(\"'),.;:") in _FUNCTION_WORDS for word in words)
    return plain >= 0.7 * len(words) and function_words >= max(1, len(words) // 8)


def _begins_with_name(words: list[str]) -> bool:
    """True for "n is at most 3." and "sizehint defaults to 0."; False for the rest of a cut sentence."""
    return words[0].lower().strip("\"'(,") not in _FUNCTION_WORDS and any(
        _VERB.match(word) for word in words[1:4]
    )


def is_legal(text: str) -> bool:
    """True for text about copyright and licences, which repeats from file to file and describes none."""
    return bool(_LEGAL.search(text))


def prose_sentences(text: str) -> Iterator[str]:
    """Yields the English sentences of a docstring, comment or help topic, free of markup."""
    for paragraph in paragraphs(text):
        if is_legal(paragraph):
            continue
        for sentence in split_sentences(plain_text(paragraph)):
            sentence = " ".join(sentence.split())
            sentence = _closed(sentence)
            if reads_like_english(sentence):
                yield sentence


def _closed(sentence: str) -> str:
    """Adds a full stop to a summary line, and to the words that introduce an example.

    A sentence that stops in the middle ("It is the same as:") gets none, and is then left out.
    """
    bare = sentence.rstrip(":")
    unfinished = bare != sentence and bare.split()[-1:] and bare.split()[-1] in _FUNCTION_WORDS
    if unfinished or not re.search(r"[\w)'\"]$", bare) or re.search(r"[.!?][)'\"]$", bare):
        return sentence
    return bare + "."


def sentence_words(sentence: str) -> list[str]:
    """The words that decide whether two sentences say the same: no case, digits, punctuation."""
    return re.findall(r"[a-z]+", sentence.lower())
