"""A model in a forked process: an error in one sentence, where TensorFlow would wait for ever."""

import os

import pytest
import tensorflow as tf

import kbert
from kbert import forked
from kbert.tasks import TASKS
from kbert.tokenization.word_offsets import valid_utf8
from tests.forks import in_fork
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.usefixtures("eager")
def test_a_model_is_refused_in_a_fork_and_goes_on_in_its_own_process(pair_run):
    loaded = random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))
    predict, extract = kbert.Predictor(loaded), kbert.FeatureExtractor(loaded)
    text_inputs, texts = loaded.text_inputs, tf.constant(["jump"])
    for ask in (
        lambda: text_inputs(texts),
        lambda: text_inputs.tokenizer(texts),
        lambda: text_inputs.tokenizer.with_offsets(texts),
        lambda: kbert.split_words_with_offsets(texts, True),
        lambda: valid_utf8(texts),  # what the other tokenizers begin with
        lambda: loaded.predict("jump"),  # before the first answer
        lambda: predict(text=["jump"]),
        lambda: extract("jump"),
        lambda: loaded.embed("jump"),
        lambda: kbert.load(pair_run.path),
    ):
        assert "was forked from one in which TensorFlow was already at work" in in_fork(ask)
    answer = loaded.predict("jump")
    assert "Load the model after the fork" in in_fork(lambda: loaded.predict("jump"))
    assert loaded.predict("jump") == answer


def test_a_fork_before_tensorflow_began_is_none_of_these(monkeypatch):
    monkeypatch.setattr(forked, "_has_begun", lambda: False)
    assert in_fork(forked.require_own_tensorflow) == "None"
