"""Stored features are found again only where they are those of the checkpoint as it is now."""

import functools
import shutil

import numpy as np
import pytest

from kbert.experiments.feature_based.layer_records import layer_records
from kbert.files.stored_tensor import stored_array
from kbert.inference.loaded_model import load
from kbert.runs import checkpoint
from tests.kbert.tasks.feature_based.small_features import (
    HIDDEN_SIZE,
    NUM_LAYERS,
    config_of,
    random_encoder,
    write_files,
    write_run,
)
from tfrecords_tools.create_layer_features import create_layer_features


def test_features_of_an_encoder_that_was_trained_on_are_refused(tmp_path):
    _, dev_file = write_files(tmp_path)
    encoder = write_run(random_encoder(), tmp_path / "encoder")
    config = config_of({"num_hidden_layers": NUM_LAYERS, "hidden_size": HIDDEN_SIZE, "stored": "float16"})
    folder = tmp_path / "features"
    find = functools.partial(layer_records, config, dev_file, folder, str(encoder))

    def write(config, input_file, folder):
        create_layer_features(config, input_file, folder, model=load(encoder), stored="float16")

    find(write)
    assert find(None) == folder
    weights = {"kernel": stored_array(np.zeros(1, np.float32))}
    checkpoint.save_checkpoint(encoder / "checkpoints", 9, weights, {}, {"examples_consumed": 0}, keep=9)
    with pytest.raises(ValueError, match="features holds features of something else: init_content"):
        find(None)
    shutil.rmtree(encoder)
    assert find(None) == folder, "the features do not need it any more"
