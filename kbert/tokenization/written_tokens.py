"""How texts are written, where a model reads something else: special tokens written out, accents apart, words
without blanks between them. Without TensorFlow."""

import operator
import re
import unicodedata
from collections.abc import Iterable, Iterator

from kbert.cli.warn_once import warn_once
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.character_classes import IDEOGRAPHS, in_python
from kbert.tokenization.python.word_splitter import split_words
from kbert.tokenization.vocabulary import Vocabulary

_FEW = 100  # one of so many texts or tokens
_SOME = 20  # one of so many characters
WITH_BLANKS = (
    "Put blanks between the words, of Thai by ICU or pythainlp (U+200B is no blank), or take a model of "
    "SentencePiece"
)


def say_written_tokens(texts: Iterable, vocabulary: BaseVocabulary, source, reads_masks: bool = False):
    """Warns, once for a source, where a special token is written out in its texts. To kbert it is characters,
    as to google-research/bert; transformers reads the token.

    Args:
      texts: texts, or tuples, lists and dicts with texts in them, such as examples.
      vocabulary: the model's.
      source: what the message calls the texts.
      reads_masks: whether a mask in a text is read as one.
    """
    special = vocabulary.special_tokens
    tokens = (special.sep, special.cls, special.pad, special.unk, *(() if reads_masks else (special.mask,)))
    holds = {token: operator.methodcaller("__contains__", token) for token in tokens}
    written = (
        token for text in texts for token, is_found in holds.items() if any(map(is_found, _texts(text)))
    )
    if token := next(written, None):
        warn_once(
            f"{source}: texts hold {token} written out, which is read as characters; transformers would read "
            "the special token. The two texts of a pair are text and text_pair."
        )


class LettersApart:
    """Warns where texts are not in Unicode's form NFC and the tokens are: letters and accents, or the parts
    of Korean syllables, stand apart (NFD), or a keyboard writes other characters, as some of Bengali. Other
    tokens are then read than of the same words in NFC. WordPiece that strips accents takes them apart itself,
    SentencePiece puts them together.

    Args:
      vocabulary, source: as for `say_written_tokens`.
    """

    def __init__(self, vocabulary: BaseVocabulary, source):
        self._source, self._total, self._apart = source, 0, 0
        is_read = isinstance(vocabulary, Vocabulary) and not vocabulary.rules.strip_accents
        tokens = vocabulary.tokens if is_read else ()
        # Characters that tokens have though NFC writes others.
        known = (ord(char) for char in {*"".join(tokens)} if not unicodedata.is_normalized("NFC", char))
        self._known = dict.fromkeys(known, "0")
        self._matters = is_read and sum(map(self._is_apart, tokens)) * _FEW < len(vocabulary)

    def look_at(self, text):
        """Counts a text, or a tuple, list or dict with texts in it."""
        self._total += 1
        self._apart += self._matters and any(map(self._is_apart, _texts(text)))

    def _is_apart(self, text):
        """Whether NFC has other characters; another order of marks, as Arabic is typed, changes little."""
        if unicodedata.is_normalized("NFC", text):
            return False
        text = text.translate(self._known)
        return sorted(text) != sorted(unicodedata.normalize("NFC", text))

    def say(self):
        """Warns, after the last text, of more than one of a hundred."""
        if self._apart * _FEW > self._total:
            warn_once(
                f"{self._source}: {self._apart:,} text(s) are not in Unicode's form NFC, and the vocabulary "
                "is: letters and accents are characters of their own (NFD), or other characters, so other "
                "tokens are read. Write the texts in NFC, here and elsewhere: unicodedata.normalize('NFC', "
                "text)."
            )


class LongWords:
    """Warns where words of more characters than WordPiece takes are a large part of texts, as in Thai without
    blanks between words. Each is one unknown token, and of all tokens they are few.

    Args:
      vocabulary, source: as for `say_written_tokens`.
    """

    def __init__(self, vocabulary: BaseVocabulary, source):
        self._source, self._unknown = source, vocabulary.special_tokens.unk
        self._rules = vocabulary.rules if isinstance(vocabulary, Vocabulary) else None
        self._longest = self._rules.max_input_chars_per_word if self._rules else 0
        ends = r"\s" + (in_python(IDEOGRAPHS) if self._rules and self._rules.tokenize_chinese_chars else "")
        self._chunks = re.compile(rf"(?<![^{ends}])[^{ends}]{{{self._longest + 1},}}")
        self._characters, self._long = 0, []

    def look_at(self, text):
        """Counts the characters of a text, or of a tuple, list or dict with texts in it."""
        for part in _texts(text) if self._rules else ():
            self._characters += len(part) - part.count(" ")
            for chunk in self._chunks.findall(part):
                lengths = map(len, split_words(chunk, **self._rules.splitting))
                self._long += [length for length in lengths if length > self._longest]

    def say(self):
        """Warns, after the last text, of more than one of twenty characters."""
        if sum(self._long) * _SOME > self._characters:
            warn_once(
                f"{self._source}: {len(self._long):,} words of more than {self._longest} characters are "
                f"{self._unknown}, {100 * sum(self._long) / self._characters:.0f}% of the text. "
                f"{WITH_BLANKS}."
            )


def looked_at(texts: Iterable, vocabulary: BaseVocabulary, source) -> Iterator:
    """Yields the texts. After the last it warns as `LettersApart` and `LongWords`, whose arguments it has."""
    counted = (LettersApart(vocabulary, source), LongWords(vocabulary, source))
    for text in texts:
        for each in counted:
            each.look_at(text)
        yield text
    for each in counted:
        each.say()


def _texts(value) -> Iterator[str]:
    """The texts of a text, or of a tuple, list or dict."""
    if isinstance(value, str):
        yield value
        return
    parts = value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, dict | tuple | list) else ():
        yield from _texts(part)
