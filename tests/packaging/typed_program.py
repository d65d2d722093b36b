"""A program of a user: `make lint` checks that it gets the types of kbert's public names. It is not run."""

from typing import assert_type

import kbert
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.text_answers import TextAnswers


def program(path: str):
    assert_type(kbert.load(path), LoadedModel | TextAnswers)
    assert_type(kbert.EncoderConfig(hidden_size=128).hidden_size, int)
    assert_type(kbert.Vocabulary("vocab.txt"), kbert.Vocabulary)
    kbert.load(1.5)  # type: ignore[arg-type]  # a path; mypy says so where this comment is not needed
