"""Every task killed in its training and in its evaluation: the same again gives the same bytes.

What is killed runs in a process of its own, beside what nobody kills, which runs in this one.
"""

import json
import signal

import pytest

from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import run_finetuning
from kbert.experiments.pretraining import run_pretraining
from kbert.runs.checkpoint import list_checkpoints
from kbert.runs.metrics_file import json_ready
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.html_checks import read_page
from tests.kbert.experiments.every_training import NOT_TRAINED, NUM_STEPS, TRAININGS
from tests.kbert.training.run_contents import assert_same_runs, numbers
from tests.warm_processes import WarmProcess

FUNCTIONS = {"finetuning": run_finetuning, "pretraining": run_pretraining}
PAGE = "page.html"
KILLED_AT, SAVED = NUM_STEPS - 1, NUM_STEPS - 2  # in the middle of an epoch and of a log interval


def doomed(moment, script, arguments):
    """A process of a script that kills itself at the moment."""
    flags = [f"--{name}" if value is True else f"--{name}={value}" for name, value in arguments.items()]
    return WarmProcess("tests.kbert.experiments.killed_script", moment, f"kbert.scripts.{script}", *flags)


def require_killed(process):
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors


def content(folder):
    """The bytes of each file there, by name, without what is not whole yet."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".tmp"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def make_training(pretraining_run, tmp_path):
    """Function from a key of TRAININGS to the `Training`."""

    def make(name):
        folder = tmp_path / f"data of {name}"
        folder.mkdir()
        training = TRAININGS[name](folder)
        if training.name == "finetuning":
            training.data["init_checkpoint"] = pretraining_run.path
        return training

    return make


def test_every_task_is_trained_here(make_training):
    trained = {make_training(name).config.task for name in TRAININGS}
    assert trained == set(TASKS) - NOT_TRAINED


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", TRAININGS)
def test_a_task_killed_in_training_and_in_evaluation(name, make_training, tmp_path):
    training = make_training(name)
    whole, taken_up = killed_in_training(training, tmp_path)
    kill_in_evaluation(training, whole, taken_up, tmp_path / "answers")


def kill_in_evaluation(training, whole, taken_up, folder):
    """Kills the evaluation of one run, repeats it, and compares it with that of the other run."""
    task = TASKS[training.config.task]
    unfinished = task.prediction_files[1] if task.prediction_files else PAGE

    def arguments(answers):
        given = {"html_file": answers / PAGE} | training.evaluated
        return given | ({"predictions_dir": answers} if task.prediction_files else {})

    repeated, expected = folder / "repeated", folder / "expected"
    given = {"run_dir": whole.path} | arguments(repeated)
    process = doomed(f"writing:{unfinished}", "run_evaluation", given)
    _, expected_metrics = evaluate(taken_up, **arguments(expected))
    assert content(expected).keys() == {PAGE, *task.prediction_files}
    require_killed(process)
    there = content(repeated)
    assert unfinished not in there and there.items() <= content(expected).items()

    _, metrics = evaluate(whole, **arguments(repeated))
    assert json.dumps(json_ready(metrics)) == json.dumps(json_ready(expected_metrics))
    assert content(repeated) == content(expected) and not list(folder.rglob("*.tmp"))
    read_page(repeated / PAGE)
    assert content(whole.path).keys() == content(taken_up.path).keys()


def killed_in_training(training, folder):
    """The runs of a training that nobody killed, and of one that was killed and taken up again."""
    (folder / "config.json").write_text(json.dumps(to_dict(training.config)), encoding="utf-8")
    train, path = FUNCTIONS[training.name], folder / "killed" / "run"
    arguments = {"config": folder / "config.json", "run_dir": path} | training.data
    process = doomed(f"step:{KILLED_AT}", f"run_{training.name}", arguments)
    trained = train(training.config, folder / "whole" / "run", **training.data)
    require_killed(process)
    whole, killed = RunDirectory(folder / "whole" / "run"), RunDirectory(path)
    assert list_checkpoints(killed.checkpoints)[-1].name == f"step-{SAVED:08d}"
    assert 0 < len(numbers(killed)) < len(numbers(whole))

    again = train(training.config, path, **training.data)
    assert json.dumps(metrics_of(again)) == json.dumps(metrics_of(trained))
    assert_same_runs(whole, killed)
    best = [(run.checkpoints / "best.json").read_bytes() for run in (whole, killed)]
    assert best[0] == best[1]
    assert not list(path.rglob("*.tmp")) and content(path).keys() == content(whole.path).keys()
    return whole, killed


def metrics_of(result):
    """Of what `run_finetuning` or `run_pretraining` gives back."""
    return json_ready(result[1] if isinstance(result, tuple) else result)
