import json

import numpy as np
import pytest
import tensorflow as tf

from export.gate.run_texts import example_inputs, read_run_texts
from kbert.config import to_dict
from kbert.tasks.similarity.text_groups import TaughtGroup, TextGroup
from kbert.tokenization.text_inputs import TextInputs
from tfrecords_tools.create_finetuning_data import create_finetuning_data


@pytest.fixture
def changed(finetuned_run):
    """Function from another train_file to a run that records it; nothing is written."""

    def change(train_file):
        run = type(finetuned_run)(finetuned_run.path)
        run.details = run.details | {"train_file": train_file}
        return run

    return change


def test_records_give_the_texts_that_their_pieces_make(changed, labelled_files, tmp_path):
    run = changed(str(tmp_path / "records"))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(run.config)), encoding="utf-8")
    create_finetuning_data(config, labelled_files[1], tmp_path / "records", init_checkpoint=run.path)
    found, source = read_run_texts(run, run.task())
    assert source == "13 texts put together from the run's training records, and fixed texts"
    of_file, _ = read_run_texts(changed(str(labelled_files[1])), run.task())
    text_inputs = TextInputs(run.vocabulary(), run.config.max_seq_length)
    ids = [
        text_inputs(tf.constant([one["text"] for one in examples]))["input_ids"].numpy()
        for examples in (of_file, found)
    ]
    np.testing.assert_array_equal(*ids)


@pytest.mark.parametrize("example", [TextGroup(("a", "b", "c"), None), TaughtGroup(("a", "b"), None, (1.0,))])
def test_groups_of_texts_give_their_first_two(example):
    assert example_inputs(example, ("text", "text_pair")) == {"text": "a", "text_pair": "b"}
    assert example_inputs(example, ("text",)) == {"text": "a"}
    assert example_inputs(example, ("question", "context")) is None
