"""Tasks killed in their training and in their evaluation: the same again gives the same bytes.

What is killed runs in a process of its own, beside what nobody kills, which runs in this one.
"""

import json
import signal

import pytest

from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.runs.checkpoint import list_checkpoints
from kbert.runs.metrics_file import json_ready
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tasks.question_answering.settings import PREDICTION_FILES
from tests.html_checks import read_page
from tests.kbert.experiments.every_training import NUM_STEPS, make_training
from tests.kbert.training.run_contents import assert_same_runs, numbers
from tests.warm_processes import WarmProcess

PAGE = "page.html"
# The others have the rows, the state and the files of one of these, and differ in losses and metrics.
KILLED = (
    *("windows", "choices", "questions", "frozen encoder", "in-batch negatives"),
    *("pretraining", "replaced token detection"),
)
# In the middle of an epoch and of a log interval; pretraining while it saves: moment, what is saved by then.
MOMENTS = {
    "finetuning": (f"step:{NUM_STEPS - 1}", NUM_STEPS - 2),
    "pretraining": (f"saving:{NUM_STEPS - 2}", NUM_STEPS - 4),
}


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


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", KILLED)
def test_a_task_killed_in_training_and_in_evaluation(name, pretraining_run, tmp_path):
    """Two at a time: what dies, and what lives."""
    training = make_training(name, tmp_path / "data", pretraining_run.path)
    (tmp_path / "config.json").write_text(json.dumps(to_dict(training.config)), encoding="utf-8")
    paths = tmp_path / "whole" / "run", tmp_path / "killed" / "run"

    command = {"config": tmp_path / "config.json", "run_dir": paths[1]} | training.data
    moment, saved = MOMENTS[training.name]
    process = doomed(moment, f"run_{training.name}", command)
    metrics = training.train(paths[0])
    require_killed(process)
    whole, killed = map(RunDirectory, paths)
    assert list_checkpoints(killed.checkpoints)[-1].name == f"step-{saved:08d}"
    assert 0 < len(numbers(killed)) < len(numbers(whole))

    evaluation = Evaluation(training, tmp_path / "repeated")
    process = evaluation.killed(whole)
    assert as_json(training.train(paths[1])) == as_json(metrics)
    assert_same_runs(whole, killed)
    best = [(run.checkpoints / "best.json").read_bytes() for run in (whole, killed)]
    assert best[0] == best[1]
    require_killed(process)

    other = Evaluation(training, tmp_path / "expected")
    expected, there = other.metrics(killed), content(evaluation.folder)
    whole_files = content(other.folder)
    assert whole_files.keys() == {PAGE, *(PREDICTION_FILES if evaluation.task.write_predictions else ())}
    assert evaluation.unfinished not in there and there.items() <= whole_files.items()
    assert evaluation.metrics(whole) == expected
    assert content(evaluation.folder) == whole_files
    read_page(evaluation.folder / PAGE)
    assert content(whole.path).keys() == content(killed.path).keys()
    assert not list(tmp_path.rglob("*.tmp"))


class Evaluation:
    """The evaluation of a run, with every file that it can write, in a folder."""

    def __init__(self, training, folder):
        self.folder, self.task = folder, TASKS[training.config.task]
        self.arguments = {"html_file": folder / PAGE} | training.evaluated
        if self.task.write_predictions:
            self.arguments["predictions_dir"] = folder

    @property
    def unfinished(self):
        """The file in whose midst it is killed: not the first, where there are several."""
        return PREDICTION_FILES[1] if self.task.write_predictions else PAGE

    def killed(self, run):
        """The process, which dies in the midst of a file."""
        return doomed(f"writing:{self.unfinished}", "run_evaluation", {"run_dir": run.path} | self.arguments)

    def metrics(self, run):
        """As text, so that what is not a number equals itself."""
        return as_json(evaluate(run, **self.arguments)[1])


def as_json(metrics):
    return json.dumps(json_ready(metrics))
