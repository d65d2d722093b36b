"""Rows of labelled files that a tiny model can tell apart, for each kind of task on texts."""

import json

from kbert.config import DatasetConfig

WORDS = ("jump", "walk", "play", "talk", "look", "ask", "open", "the")


def make_rows(task, number):
    """Examples as columns: texts of classification and regression, lists of labels, choices."""
    for index in range(number):
        word = WORDS[index % 4]
        text, other = f"the {word} a", f"{word} and ask"
        if task == "sequence_regression":
            yield {"text": text, "other": other, "label": 1.25 * (index % 4)}
        elif task == "multi_label_classification":
            names = [name for name, holds in (("up", index % 2), ("far", index % 4 > 1)) if holds]
            yield {"text": text, "label": names}
        elif task == "sequence_classification":
            yield {"text": text, "other": other, "label": "up" if index % 2 else "far"}
        else:
            yield {"text": text, "c0": "look", "c1": other, "c2": "open", "label": 1}


def dataset_of(task):
    if task == "sequence_regression":
        return DatasetConfig(text="text", text_pair="other")
    if task == "multiple_choice":
        return DatasetConfig(text="text", choices=("c0", "c1", "c2"))
    return DatasetConfig(text="text")


def write_scored(path, number):
    """Pairs with a score from 0 to 5."""
    rows = [
        {"text": f"{WORDS[n % 8]} the {WORDS[n % 5]}", "other": f"{WORDS[(n * 3) % 8]} a", "label": n % 6}
        for n in range(number)
    ]
    return write_rows(path, rows)


def write_positives(path, number):
    """Pairs of which every third repeats a query."""
    rows = [
        {"text": f"{WORDS[n % 8]} {WORDS[n // 3 % 8]}", "other": f"a {' '.join(WORDS[: n % 8])} {n}"}
        for n in range(number)
    ]
    return write_rows(path, rows)


def write_rows(path, rows):
    """Writes JSON lines; returns the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
