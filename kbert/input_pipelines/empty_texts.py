"""Labelled examples with nothing to read: refused. With nothing in one of several texts: counted and said.

GLUE's QQP has two pairs with an empty second question (github.com/huggingface/datasets/issues/277), which are
used in all figures. Nothing heavy is imported.
"""

import functools
from collections.abc import Mapping

from absl import logging


class EmptyTexts:
    """Looks for texts that are empty or white space, in one reading of a labelled file."""

    def __init__(self):
        self._number, self._first = 0, None

    def check(self, texts: Mapping, place: str):
        """Counts an example with an empty text.

        Args:
          texts: name -> text; anything but a string is a matter of others.
          place: file and line, for messages.

        Raises:
          ValueError: when all texts of the example are empty.
        """
        empty = [name for name, text in texts.items() if isinstance(text, str) and not text.strip()]
        if empty and len(empty) == len(texts):
            columns = f"column{'s' if len(empty) > 1 else ''} {', '.join(map(repr, empty))}"
            raise ValueError(f"{place} has no text in {columns}; mend the row or leave it out.")
        if empty:
            self._number += 1
            self._first = self._first or place

    def say(self):
        """Warns of the examples that were counted."""
        if self._number:
            warn_once(
                f"{self._number:,} example(s) have an empty text beside others and are used as they are; the "
                f"first is {self._first}"
            )


@functools.cache
def warn_once(sentence: str):
    """Logs a warning, once for all readings of a file: records are made of its second."""
    logging.warning("%s", sentence)
