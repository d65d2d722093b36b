"""The training routine over real records: what it leaves, and what an evaluation counts."""

import random
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.input_pipelines.batches import evaluation_batches
from kbert.input_pipelines.records.record_reader import RecordRows
from kbert.manifest import read_manifest
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from kbert.training import trainer
from kbert.training.evaluation_step import EvaluationStep, evaluate_batches
from kbert.training.training_state import TrainingState
from tests.kbert.training.run_contents import numbers


def test_sums_of_a_version_with_other_metrics_are_left_out(caplog):
    """A table of labels by labels, say, where counts of each label are summed now."""
    state = TrainingState.__new__(TrainingState)
    new = {"counts": (tf.ones((3, 2)), tf.zeros(()))}
    for before, expected in (((3, 2), 3.0), ((2, 2), 1.0)):
        state.step, state._sums = 0, [np.full(before, 2.0), np.array(0.0)]
        state.advance(1, new)
        assert state.take_sums()["counts"][0].numpy().tolist() == [[expected] * 2] * 3
    assert "summed other metrics" in caplog.text


def test_a_run_leaves_what_it_promises(pretraining_run):
    run = pretraining_run
    assert {path.name for path in run.path.iterdir()} == {
        ".lock", "checkpoints", "config.json", "curves.html", "metrics.jsonl", "run.json", "vocab.txt",
    }  # fmt: skip
    assert [path.name for path in checkpoint.list_checkpoints(run.checkpoints)] == [
        "step-00000006",
        "step-00000012",
    ]
    lines = numbers(run)
    assert [(line["step"], line["split"]) for line in lines] == [
        *((step, "train") for step in range(2, 13, 2)),
        (12, "eval"),
    ]
    assert lines[-1].keys() >= {"masked_lm_loss", "next_sentence_loss", "masked_lm_accuracy"}
    seen = [line["tokens_seen"] for line in lines[:-1]]
    assert 2 * 8 * 4 < seen[0] < 2 * 8 * 24 and seen == sorted(set(seen))
    speeds = read_metrics(run.metrics_file)[-2]
    assert speeds["tokens_per_second"] > 0 and 0 < speeds["share_of_peak"] < 1


def test_the_caller_s_random_numbers_are_its_own(monkeypatch):
    """Who draws the settings of many runs in one program would draw the same after each."""

    class Seeded:
        def __init__(self, *arguments):
            keras.utils.set_random_seed(1)

        def run_phases(self):
            drawn_by_tf = tf.random.uniform([]).numpy()
            return {"drawn": random.random(), "by_numpy": np.random.rand(), "by_tf": drawn_by_tf}

    monkeypatch.setattr(trainer, "Trainer", Seeded)
    before = random.getstate(), np.random.get_state()
    drawn = []
    for seed in (None, 7):
        tf.random.set_seed(seed)
        expected = {tf.random.uniform([]).numpy() for _ in range(2)}
        tf.random.set_seed(seed)
        drawn_by_caller = set()
        for _ in range(2):
            drawn.append(trainer.train(SimpleNamespace(coupled=()), None, None, None, None))
            drawn_by_caller.add(tf.random.uniform([]).numpy())
        assert len(drawn_by_caller) == 2 and (drawn_by_caller == expected) == (seed is not None)
    assert all(one == drawn[0] for one in drawn)
    assert random.getstate() == before[0]
    np.testing.assert_equal(np.random.get_state(), before[1])


@pytest.mark.slow
def test_a_long_look_for_the_first_example_is_said():
    state = SimpleNamespace(_read_again=21_400_000, _is_traced=False, _state=SimpleNamespace(step=5))
    state._total_steps_text = lambda: " of 9"
    said = trainer.Trainer._description(state, 2)
    assert said.startswith("reading past 21,400,000 examples of this epoch, tracing")
    state._is_traced = True
    assert trainer.Trainer._description(state, 2) == "steps 6 to 7 of 9"


def test_evaluation_counts_every_example_once(pretraining_run, records_dir):
    """Batches of any size, filled up or not, give the same means."""
    manifest = read_manifest(records_dir / "heldout")
    rows = RecordRows(records_dir / "heldout", manifest)
    _, task, model = pretraining_run.load_checkpoint()
    step = EvaluationStep(task, model, tf.distribute.get_strategy())

    def evaluate(batch_size, with_fill):
        batches = evaluation_batches(rows, batch_size, with_fill=with_fill)
        return evaluate_batches(task, step, batches)

    assert manifest.num_examples % 7
    expected = evaluate(manifest.num_examples, False)
    for batch_size, with_fill in ((7, False), (5, True)):
        assert evaluate(batch_size, with_fill) == pytest.approx(expected, abs=1e-5)
    recorded = read_metrics(pretraining_run.metrics_file)[-1]
    assert expected == pytest.approx({name: recorded[name] for name in expected}, abs=1e-5)
