"""Every task killed in its training and in its evaluation: the same commands again give the same bytes."""

import json
import signal

import pytest

from kbert.runs.checkpoint import list_checkpoints
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.html_checks import read_page
from tests.kbert.experiments.every_training import NOT_TRAINED, NUM_STEPS, TRAININGS
from tests.kbert.training.run_contents import assert_same_runs, numbers
from tests.warm_processes import WarmProcess

KILLED_SCRIPT = "tests.kbert.experiments.killed_script"
PAGE = "page.html"
KILLED_AT, SAVED = NUM_STEPS - 1, NUM_STEPS - 2  # in the middle of an epoch and of a log interval


def start(moment, script, *arguments):
    """A process of a script, which is killed at the moment, if there is one."""
    module = f"kbert.scripts.{script}"
    return WarmProcess(*([KILLED_SCRIPT, moment, module] if moment else [module]), *arguments)


def finished(process):
    """The last line that it printed, as JSON."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


def died(process):
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors


def content(folder):
    """The bytes of each file there, by name, without what is not whole yet."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".tmp"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Commands:
    """The commands of one training and its evaluation, for runs in folders of their own."""

    def __init__(self, training, folder):
        self.training, self.folder = training, folder
        self.task = TASKS[training.config.task]
        self.config_file = training.write_config(folder / "config.json")

    def run_dir(self, name):
        return self.folder / name / "run"

    def train(self, name, moment=None):
        (self.folder / name).mkdir(exist_ok=True)
        flags = [f"--config={self.config_file}", f"--run_dir={self.run_dir(name)}", *self.training.data]
        return start(moment, self.training.script, *flags)

    def evaluate(self, name, moment=None):
        answers = self.answers(name)
        flags = [f"--run_dir={self.run_dir(name)}", f"--html_file={answers / PAGE}"]
        if self.task.prediction_files:
            flags.append(f"--predictions_dir={answers}")
        return start(moment, "run_evaluation", *flags, *self.training.evaluated)

    def answers(self, name):
        return self.folder / name / "answers"


def test_every_task_is_trained_here(tmp_path):
    trained = set()
    for name, make in TRAININGS.items():
        (tmp_path / name).mkdir()
        trained.add(make(tmp_path / name).config.task)
    assert trained == set(TASKS) - NOT_TRAINED


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", TRAININGS)
def test_a_task_killed_in_training_and_in_evaluation(name, tmp_path):
    commands = Commands(TRAININGS[name](tmp_path), tmp_path)

    # Two at a time: one that nobody kills, and one that dies.
    processes = commands.train("whole"), commands.train("killed", f"step:{KILLED_AT}")
    trained, _ = finished(processes[0]), died(processes[1])
    whole, killed = (RunDirectory(commands.run_dir(name)) for name in ("whole", "killed"))
    assert list_checkpoints(killed.checkpoints)[-1].name == f"step-{SAVED:08d}"
    assert 0 < len(numbers(killed)) < len(numbers(whole))

    processes = commands.train("killed"), commands.evaluate("whole")
    assert finished(processes[0]) == trained
    assert_same_runs(whole, killed)
    assert (whole.checkpoints / "best.json").read_bytes() == (killed.checkpoints / "best.json").read_bytes()

    judged = finished(processes[1])
    expected = content(commands.answers("whole"))
    assert set(expected) == {PAGE, *commands.task.prediction_files}
    unfinished = commands.task.prediction_files[1] if commands.task.prediction_files else PAGE
    died(commands.evaluate("killed", f"writing:{unfinished}"))
    there = content(commands.answers("killed"))
    assert unfinished not in there and there.items() <= expected.items()

    assert finished(commands.evaluate("killed")) == judged
    assert content(commands.answers("killed")) == expected
    read_page(commands.answers("killed") / PAGE)
    assert not list((tmp_path / "killed").rglob("*.tmp"))
    assert content(whole.path).keys() == content(killed.path).keys()
