"""GLUE from a tiny checkpoint: trainings that go on where they were, the table, and the submission."""

import functools
import json
import os
import shutil
import signal

import pytest

from kbert.cli.signals import StoppedBySignal
from kbert.experiments import seeds as seeds_module
from kbert.experiments.evaluation import evaluate
from kbert.experiments.glue.glue_benchmark import run_glue
from kbert.reports.glue_report import glue_table
from kbert.runs.run_directory import RunDirectory
from kbert.training.training_state import TrainingState
from tests import warm_processes
from tests.kbert.experiments.glue import small_glue
from tests.kbert.inference.answering import answers

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


@pytest.fixture(scope="module")
def interrupted(glue_dir, pretraining_run, tmp_path_factory):
    """Four runs of CoLA, stopped in the third and taken up again: call, folder, summary, what was run."""
    run_dir = tmp_path_factory.mktemp("interrupted") / "glue"
    arguments = {"tasks": ["cola"], "learning_rates": [1e-12, 5e-3], "seeds": [1, 2], "overrides": TINY}
    run = functools.partial(run_glue, glue_dir, run_dir, **arguments, init_checkpoint=pretraining_run.path)
    with pytest.MonkeyPatch.context() as patch:
        signal_in_call(patch, 3)  # each of these runs is one call
        with pytest.raises(StoppedBySignal):
            run()
    finished = sorted(path.parent.relative_to(run_dir) for path in run_dir.rglob("result.json"))
    trained = []
    with pytest.MonkeyPatch.context() as patch:
        real = seeds_module.finetune
        patch.setattr(
            seeds_module,
            "finetune",
            lambda c, path, **rest: trained.append(path) or real(c, path, **rest),
        )
        summary = run()
    return run, run_dir, summary, finished, [path.relative_to(run_dir) for path in trained]


@pytest.mark.long
def test_finished_runs_are_not_trained_again(interrupted):
    run, _, summary, finished, trained = interrupted
    runs = {f"cola/lr-{rate}/seed-{seed}" for rate in ("1e-12", "0.005") for seed in (1, 2)}
    assert len(finished) == 2 and set(map(str, finished)) | set(map(str, trained)) == runs
    assert not set(finished) & set(trained)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds_module, "finetune", lambda *arguments, **rest: pytest.fail("trained again"))
        assert run() == summary


@pytest.mark.long
def test_the_best_learning_rate_and_run_are_those_of_dev(interrupted, glue_dir):
    _, run_dir, summary, *_ = interrupted
    task = summary["tasks"]["cola"]
    means = {}
    for rate in (1e-12, 5e-3):
        values = []
        for seed in (1, 2):
            run = RunDirectory(run_dir / "cola" / f"lr-{rate!r}" / f"seed-{seed}")
            assert (run.config.seed, run.config.optimizer.learning_rate) == (seed, rate)
            _, metrics = evaluate(run, glue_dir / "CoLA" / "dev.tsv", batch_size=5)
            values.append(metrics["matthews"])
        means[rate] = sum(values) / 2
        (recorded,) = [one for one in task["by_learning_rate"] if one["learning_rate"] == rate]
        assert recorded["metrics"]["matthews"]["values"] == pytest.approx(values, abs=1e-9)
    assert task["learning_rate"] == max(means, key=means.get)
    assert task["metrics"]["matthews"]["mean"] == pytest.approx(means[task["learning_rate"]])
    best = max(v for one in task["by_learning_rate"] for v in one["metrics"]["matthews"]["values"])
    assert task["best_run"]["metrics"]["matthews"] == best and task["runs"] == 4
    assert summary["average"] == {"tasks": ["cola"], "value": task["metrics"]["matthews"]["mean"]}


@pytest.fixture(scope="module")
def submitted(glue_dir, pretraining_run, tmp_path_factory):
    """From the command line: one run each of STS-B and MNLI, and the submission, AX included."""
    folder = tmp_path_factory.mktemp("submitted")
    arguments = [
        f"--glue_dir={glue_dir}",
        f"--run_dir={folder}/glue",
        f"--submission_dir={folder}/submission",
        f"--init_checkpoint={pretraining_run.path}",
        "--tasks=stsb,mnli,ax",
        *(f"--override={value}" for value in TINY),
    ]
    result = warm_processes.run_script("kbert.scripts.run_glue", *arguments)
    assert result.returncode == 0, result.stderr
    return folder, result


def rows_of(path):
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    assert header == "index\tprediction"
    return [row.split("\t") for row in rows]


@pytest.mark.long
def test_the_command_prints_its_table_and_where_all_lies(submitted):
    folder, result = submitted
    summary = json.loads((folder / "glue" / "summary.json").read_text())
    table, closing = (part.splitlines() for part in result.stdout.split("\n\n"))
    assert "\n".join(table) == glue_table(summary)
    assert closing[-2].endswith(f"{folder}/glue/summary.json") and closing[-1].startswith("submission  ")
    assert [line.split()[0] for line in table[1:]] == [
        "stsb",
        "spearman",
        "mnli",
        "mismatched_accuracy",
        "average",
    ]
    assert "GLUE's server also wants CoLA.tsv, SST-2.tsv" in result.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "task", "source", "number"),
    [
        ("STS-B", "stsb", "STS-B/test.tsv", small_glue.NUM_TEST),
        ("MNLI-m", "mnli", "MNLI/test_matched.tsv", small_glue.NUM_DEV - 1),
        ("MNLI-mm", "mnli", "MNLI/test_mismatched.tsv", small_glue.NUM_DEV + 1),
        ("AX", "mnli", "diagnostic/diagnostic.tsv", 5),
    ],
)
def test_a_submission_is_what_the_run_answers(submitted, glue_dir, name, task, source, number):
    folder, _ = submitted
    rows = rows_of(folder / "submission" / f"{name}.tsv")
    (path,) = (folder / "glue" / task).glob("lr-*/seed-*")
    header, *lines = [line.split("\t") for line in (glue_dir / source).read_text().splitlines()]
    places = [header.index(column) for column in ("sentence1", "sentence2")]
    examples = [dict(zip(("text", "text_pair"), [line[p] for p in places], strict=True)) for line in lines]
    said = list(answers(RunDirectory(path), examples))
    if task == "stsb":
        expected = [f"{min(max(answer['prediction'], 0), 5):.3f}" for answer in said]
    else:
        expected = [answer["label"] for answer in said]
    assert rows == [[str(index), value] for index, value in enumerate(expected)] and len(rows) == number
    assert not list((folder / "submission").glob("*.tmp"))


def test_a_missing_file_is_one_sentence_before_anything_runs(glue_dir, tmp_path):
    copy = shutil.copytree(glue_dir, tmp_path / "glue")
    (copy / "RTE" / "dev.tsv").unlink()
    arguments = [f"--glue_dir={copy}", f"--run_dir={tmp_path}/run", "--init_checkpoint=none"]
    result = warm_processes.run_script("kbert.scripts.run_glue", *arguments, "--tasks=cola,rte")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"error: glue_dir={copy} lacks RTE/dev.tsv.")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--learning_rates=5e-5,5e-5", "error: --learning_rates=5e-05,5e-05 names a value twice"),
        ("--config_dir=none", "error: config file none/cola.toml does not exist"),
    ],
)
def test_wrong_flags_are_one_sentence(glue_dir, tmp_path, argument, sentence):
    arguments = [f"--glue_dir={glue_dir}", f"--run_dir={tmp_path}/run", "--init_checkpoint=none", argument]
    result = warm_processes.run_script("kbert.scripts.run_glue", *arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(sentence) and not (tmp_path / "run").exists()
