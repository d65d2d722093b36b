"""How a task answers `embed`, where the answer is no plain row of numbers: a part of tasks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kbert.config import EncoderConfig


class TextVectors:
    """Vectors of texts in a form of their own.

    Args:
      task: the task.

    Attributes:
      task: as given.
    """

    def __init__(self, task: Any):
        self.task = task

    def graph(self, loaded, task: str | None) -> Callable:
        """The function from texts (string [batch], behind their prompt) to (arrays of as many rows, bool
        [batch]: whether a text was cut).

        Args:
          loaded: has a `model`, an `answering_model` and `text_inputs`.
          task: "query", "document" or None.
        """
        raise NotImplementedError

    def answers(self, outputs) -> list:
        """The vectors of each text of a batch, from the arrays that the graph gives."""
        raise NotImplementedError

    def together(self, answers: list, config: EncoderConfig):
        """What `embed` gives for a list of texts, from the answers of each, in their order.

        Args:
          answers: as `answers` gives them.
          config: the encoder's.
        """
        return answers

    def alone(self, answer):
        """What `embed` gives for a single text."""
        return answer

    def similarity(self, queries, texts) -> np.ndarray:
        """How similar each query is to each text, float32 (queries, texts), of what `embed` gives."""
        raise NotImplementedError
