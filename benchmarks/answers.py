"""What the benchmarks of answers share: texts of mixed lengths, times by size, and how answers differ."""

import pydoc_data.topics
import random
import statistics

import numpy as np

SHORTEST, LONGEST = 20, 400


def mixed_texts(number: int) -> list[str]:
    """Different sentences of Python's own manual, of 20 to 400 characters, in a fixed random order.

    Raises:
      ValueError: when there are not so many.
    """
    pages = " \n".join(pydoc_data.topics.topics.values()).split("\n\n")
    texts = [text for page in pages for text in " ".join(page.split()).split(". ")]
    texts = sorted({text for text in texts if SHORTEST <= len(text) <= LONGEST})
    if len(texts) < number:
        raise ValueError(f"Python's manual has {len(texts)} sentences of mixed lengths; ask for no {number}.")
    random.Random(1).shuffle(texts)
    return texts[:number]


def median_milliseconds(steps: list[dict], rounds: int) -> dict[int, float]:
    """Size of a batch -> the median of its steps.

    Args:
      steps: of a worker that called `Turns.answer_batches`, `rounds` rounds.
      rounds: the first of them does not count.
    """
    timed = steps[len(steps) // rounds :]
    return {
        size: 1e3 * statistics.median(step["seconds"] for step in timed if step["size"] == size)
        for size in dict.fromkeys(step["size"] for step in timed)
    }


def differences(answers, expected) -> dict[str, float]:
    """`max_difference` of a number, and `agreement`: the share of rows with the same largest one."""
    answers, expected = np.array(answers), np.array(expected)
    return {
        "max_difference": float(np.abs(answers - expected).max()),
        "agreement": float((answers.argmax(-1) == expected.argmax(-1)).mean()),
    }
