"""Tagged sentences that a tiny model can learn: two stems are names."""

import random

from tests.tfrecords_tools import small_corpus

# "help" and "call" are names of two kinds; "and" between two names is inside the first kind.
KINDS = {"help": "PER", "call": "ORG"}


def sentence(rng):
    """(words, tags in IOB1)."""
    words, tags = [], []
    for _ in range(rng.randint(2, 14)):
        word = rng.choice(small_corpus.STEMS) + rng.choice(("", "s"))
        kind = KINDS.get(word.rstrip("s"))
        tag = f"I-{kind}" if kind else "O"
        if kind and tags and tags[-1][2:] == kind:
            tag = f"B-{kind}"
        words.append(word)
        tags.append(tag)
    return words, tags


def write_conll(path, number, seed):
    rng = random.Random(seed)
    lines = []
    for index in range(number):
        if index % 3 == 0:
            lines.append("-DOCSTART- X O\n")
        lines += [f"{word} X {tag}" for word, tag in zip(*sentence(rng), strict=True)] + [""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
