"""Rows of random ids in the shape that a task asks for, the first one full, with two segments."""

import numpy as np


def rows_for(task, vocabulary, length: int, examples: int = 6) -> dict:
    """`input_ids`, `input_mask` and `segment_ids`, int32 (examples, ..., length)."""
    rng = np.random.default_rng(5)
    shape = (examples, *task.features(length)["input_ids"].shape)
    rows = int(np.prod(shape[:-1]))
    tokens = np.concatenate([[length], rng.integers(2, length, rows - 1)])
    mask = (np.arange(length) < tokens[:, None]).astype(np.int32)
    ids = rng.integers(5, len(vocabulary), (rows, length)) * mask
    segments = (np.arange(length) >= 4) * mask
    values = {"input_ids": ids, "input_mask": mask, "segment_ids": segments}
    return {name: np.reshape(value, shape).astype(np.int32) for name, value in values.items()}
