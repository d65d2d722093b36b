"""Whether the column of a CoNLL file that is read as its words holds words, by its first sentences."""

import itertools
import re
from collections.abc import Sequence

from kbert.tasks.token_classification.tag_schemes import OUTSIDE, is_tag

LOOKED_AT = 10  # of the first sentences
_REPEATED = 5  # words that repeat the one before, in sentences of such words alone
_LANGUAGE = re.compile(r"[a-z]{2,3}:(?=.)")
_PLACED = re.compile(r".([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")


def require_words(sentences: Sequence, num_columns: int, is_named: bool):
    """Judges the words of the first sentences of a file.

    Args:
      sentences: the `FileSentence`s.
      num_columns: the number of cells of a line.
      is_named: whether `dataset.column_names` says which column holds the words.

    Raises:
      ValueError: for words that each begin with their language, as XTREME's copy of WikiANN has them, or end
        with their place, as Weibo NER has its characters, or have as many parts between blanks. Where the
        column is not named, for one that counts words or sentences, is the same in all lines of each
        sentence, or holds tags.
    """
    words = [word for sentence in sentences for word in sentence.words]
    where = sentences[0].locations[0]
    if len(words) > 1 and (beside := _more_than_words(words)):
        raise ValueError(f"{where}: {beside} OLD > NEW")
    if not is_named and (what := _no_words(sentences, words, num_columns)):
        raise ValueError(
            f"{where}: the first column {what}, but it is read as the word, and the last as its tag; name "
            f"all {num_columns} columns in dataset.column_names, and two of them in dataset.text and "
            "dataset.label."
        )


def _more_than_words(words):
    """What stands beside each word in its cell, and how to take it away."""
    language = _LANGUAGE.match(words[0])
    if language and all(word.startswith(language[0]) for word in words):
        return f"each word begins with {language[0]!r}; take it away: sed 's/^{language[0]}//'"
    widths = {len(word.split()) for word in words}
    if len(widths) == 1 < max(widths):
        return (
            f"each word has {max(widths)} parts between blanks, as {words[0]!r}; if these are columns, put "
            r"tabs between them: sed -E 's/ +/\t/g'"
        )
    placed = [_PLACED.fullmatch(word) for word in words]
    positions = [int(match[1]) for match in placed if match]
    are_all = len(positions) == len(words) and positions[0] == 0 < max(positions)
    are_numbers = all(map(_NUMBER.fullmatch, words))  # 100, 101
    if are_all and not are_numbers and _count_up([[position] for position in positions]):
        return (
            f"each character has its place in its word behind it, as {words[0]!r} and "
            rf"{words[1]!r}; take it away: sed -E 's/^(.)[0-9]+/\1/'"
        )
    return ""


def _no_words(sentences, words, num_columns):
    """What a column is that holds no words; "" for one that may. Without tags, any of several columns may
    hold the words."""
    if num_columns < 2:
        return ""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, (each.words for each in sentences)))
    repeats = [word == before for before, word in pairs]
    is_same = all(repeats) and len(repeats) >= _REPEATED
    tags = [tag for sentence in sentences for tag in sentence.tags]
    are_tagged = tags and all(map(is_tag, tags))
    if all(map(is_tag, words)) and not are_tagged and (is_same or {*words} != {OUTSIDE}):
        return "holds tags"
    if tags and num_columns < 3:  # where else should the words be?
        return ""
    if len(words) > 1 and all(map(_NUMBER.fullmatch, words)):
        numbers = [[*map(int, sentence.words)] for sentence in sentences]
        if _count_up(numbers):
            return "numbers the words or the sentences"
    return "is the same in all lines of a sentence" if is_same else ""


def _count_up(numbers):
    """Whether each number is the one before, the next, or, where a sentence begins, the first of all."""
    before = first = numbers[0][0]
    for sentence in numbers:
        for position, number in enumerate(sentence):
            if number - before not in (0, 1) and (position or number != first):
                return False
            before = number
    return True
