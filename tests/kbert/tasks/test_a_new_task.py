"""The example of docs/add_a_task.md: one file and one config make a task, and every command knows it."""

import importlib.util
import json
import re

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import run_finetuning
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.docs.markdown import REPOSITORY

PAGE = (REPOSITORY / "docs/add_a_task.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The config, with the task as a program of the user's own has it."""
    (tmp_path / "question_type.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "question_type.toml").write_text(block("toml"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("question_type", tmp_path / "question_type.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(TASKS, module.QuestionType.name, module.QuestionType)
    return load_config(FinetuningConfig, tmp_path / "question_type.toml")


def write_questions(path, number):
    kinds = (("NUM:count jump the", "a "), ("HUM:ind walk a", "the "))
    lines = [f"{start} {more * (n % 4)}." for n in range(number) for start, more in kinds]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_it_is_short():
    assert len(block("python").splitlines()) <= 60


@pytest.mark.slow
def test_a_task_of_one_file_and_one_config(config, pretraining_run, tmp_path):
    files = write_questions(tmp_path / "train.txt", 20), write_questions(tmp_path / "dev.txt", 4)
    _, metrics = run_finetuning(config, tmp_path / "run", *files, init_checkpoint=pretraining_run.path)
    assert metrics["accuracy"] == 1.0
    run = RunDirectory(tmp_path / "run")
    assert json.loads((run.path / "run.json").read_text())["task_config"]["labels"] == ["HUM", "NUM"]
    task, again = evaluate(run, files[1], html_file=tmp_path / "page.html")
    assert type(task).__name__ == "QuestionType" and again["loss"] == pytest.approx(metrics["loss"], abs=1e-6)


def test_its_own_errors_name_file_and_line(config, pretraining_run, tmp_path):
    train = write_questions(tmp_path / "train.txt", 2)
    train.write_text(train.read_text() + "NUM how many?\n")
    with pytest.raises(ValueError, match="train.txt line 5: expected 'KIND:detail question', received 'NUM"):
        run_finetuning(config, tmp_path / "run", train, init_checkpoint=pretraining_run.path)
    assert not (tmp_path / "run").exists()
