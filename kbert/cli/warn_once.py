"""Warnings about a file that is read several times."""

import functools

from absl import logging


@functools.cache
def warn_once(sentence: str):
    """Logs a warning, once for all readings of a file: records are made of its second."""
    logging.warning("%s", sentence)
