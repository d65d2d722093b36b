"""GLUE from a tiny checkpoint: trainings that go on where they were, and the command."""

import json
import os
import signal

import pytest

from kbert.cli.signals import StoppedBySignal
from kbert.experiments import seeds as seeds_module
from kbert.experiments.glue.glue_benchmark import run_glue
from kbert.reports.glue_report import glue_table
from kbert.training.training_state import TrainingState
from tests import warm_processes
from tests.kbert.experiments.glue import small_glue

pytestmark = pytest.mark.slow  # several trainings
TINY = (
    "num_train_epochs=1",
    "train_batch_size=8",
    "eval_batch_size=8",
    "max_seq_length=24",
    "keep_checkpoints=1",
)


@pytest.fixture(scope="module")
def glue_dir(tmp_path_factory):
    return small_glue.write_glue(tmp_path_factory.mktemp("glue"))


def signal_in_call(patch, number):
    """A SIGTERM arrives during the so-manieth call of a training step, counted over all runs."""
    advance, calls = TrainingState.advance, []

    def advance_and_signal(self, steps, sums):
        advance(self, steps, sums)
        calls.append(steps)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGTERM)

    patch.setattr(TrainingState, "advance", advance_and_signal)


def test_a_submission_that_cannot_be_answered_is_refused_before_a_training(glue_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(seeds_module, "finetune", None)
    arguments = {"tasks": ["cola"], "learning_rates": [5e-3], "seeds": [1], "overrides": TINY}
    arguments |= {"init_checkpoint": "none", "submission_dir": tmp_path / "submission"}
    (tmp_path / "submission").write_text("a file")
    with pytest.raises((ValueError, OSError), match="submission"):
        run_glue(glue_dir, tmp_path / "runs", **arguments)
    (tmp_path / "submission").unlink()
    run = tmp_path / "runs" / "cola" / "lr-0.005" / "seed-1"
    run.mkdir(parents=True)
    (run / "result.json").write_text("{}")
    with pytest.raises(ValueError, match="seed-1 were deleted.* delete these folders to train them again"):
        run_glue(glue_dir, tmp_path / "runs", **arguments)


@pytest.mark.long
def test_finished_runs_are_not_trained_again(glue_dir, pretraining_run, tmp_path, monkeypatch, caplog):
    """Two runs of CoLA, stopped in the second and taken up again."""
    arguments = {"tasks": ["cola"], "learning_rates": [1e-12, 5e-3], "seeds": [1], "overrides": TINY}
    arguments["init_checkpoint"] = pretraining_run.path
    with monkeypatch.context() as patch:
        signal_in_call(patch, 2)  # each of these runs is one call
        with pytest.raises(StoppedBySignal):
            run_glue(glue_dir, tmp_path, **arguments)
    finished = {path.parent for path in tmp_path.rglob("result.json")}
    trained, train = set(), seeds_module.finetune

    def noted(config, path, **others):
        trained.add(path)
        return train(config, path, **others)

    monkeypatch.setattr(seeds_module, "finetune", noted)
    summary = run_glue(glue_dir, tmp_path, **arguments)
    runs = {tmp_path / "cola" / f"lr-{rate}" / "seed-1" for rate in ("1e-12", "0.005")}
    assert len(finished) == 1 and finished | trained == runs and not finished & trained
    trained.clear()
    assert run_glue(glue_dir, tmp_path, **arguments) == summary and not trained
    assert "which it loses" not in caplog.text
    run_glue(glue_dir, tmp_path, **arguments | {"learning_rates": [1e-12]})
    assert "has results of cola at a learning rate of 0.005 too, which it loses" in caplog.text


@pytest.mark.long
def test_the_command_trains_writes_the_submission_and_prints_its_table(glue_dir, pretraining_run, tmp_path):
    """One run each of STS-B and MNLI, AX included, beside a file of an earlier submission."""
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "CoLA.tsv").write_text("earlier")
    arguments = [
        f"--glue_dir={glue_dir}",
        f"--run_dir={tmp_path}/glue",
        f"--submission_dir={tmp_path}/submission",
        f"--init_checkpoint={pretraining_run.path}",
        "--tasks=stsb,mnli,ax",
        *(f"--override={value}" for value in TINY),
    ]
    result = warm_processes.run_script("kbert.scripts.run_glue", *arguments)
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "glue" / "summary.json").read_text())
    table, closing = (part.splitlines() for part in result.stdout.split("\n\n"))
    assert "\n".join(table) == glue_table(summary)
    assert closing[-2].endswith(f"{tmp_path}/glue/summary.json") and closing[-1].startswith("submission  ")
    names = [line.split()[0] for line in table[1:]]
    assert names == ["stsb", "spearman", "mnli", "mismatched_accuracy", "average"]
    assert {path.name for path in (tmp_path / "submission").iterdir()} == {
        "CoLA.tsv", "STS-B.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv",
    }  # fmt: skip
    assert "files of an earlier submission, whose models may be others: CoLA.tsv;" in result.stderr
    assert "GLUE's server also wants SST-2.tsv" in result.stderr
