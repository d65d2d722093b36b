"""New weights are random, unless they are read next: then nothing draws them."""

import keras
import numpy as np

import kbert
from kbert.encoder import BertEncoder
from kbert.layers import fresh_weights
from tests.conftest import tiny_encoder_config


def kernels(model):
    return [variable.numpy() for variable in model.trainable_variables if len(variable.shape) > 1]


def test_weights_are_random_outside_of_the_block_alone():
    with fresh_weights.read_next():
        zeros = BertEncoder(tiny_encoder_config(num_hidden_layers=1))
    assert not any(kernel.any() for kernel in kernels(zeros))
    drawn = kernels(BertEncoder(tiny_encoder_config(num_hidden_layers=1)))
    assert all(np.std(kernel) > 0 for kernel in drawn)


def test_a_loaded_run_draws_nothing(finetuned_run, monkeypatch):
    def draw(*arguments, **named):
        raise AssertionError("random numbers for weights that are read")

    monkeypatch.setattr(keras.initializers.TruncatedNormal, "__call__", draw)
    assert all(kernel.any() for kernel in kernels(kbert.load(finetuned_run.path).model))
