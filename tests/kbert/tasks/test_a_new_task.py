"""The example of docs/add_a_task.md: one file and one config make a task, and every command knows it."""

import importlib.util
import json
import re
from types import SimpleNamespace

import pytest

from export.export_savedmodel import export_savedmodel
from export.litert.requests import check_task
from kbert.config import FinetuningConfig, load_config
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.kbert.inference.answering import answers
from tests.places import REPOSITORY

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
    kinds = (("NUM", "jump the"), ("HUM", "walk a"))
    lines = [f"{text} {'the ' * (n % 4)}.\t{kind}" for n in range(number) for kind, text in kinds]
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.long
def test_a_task_of_one_file_and_one_config(config, pretraining_run, tmp_path):
    files = write_questions(tmp_path / "train.tsv", 20), write_questions(tmp_path / "dev.tsv", 4)
    _, metrics = finetune(config, tmp_path / "run", *files, init_checkpoint=pretraining_run.path)
    assert metrics["accuracy"] == 1.0
    run = RunDirectory(tmp_path / "run")
    assert json.loads((run.path / "run.json").read_text())["task_config"]["labels"] == ["HUM", "NUM"]
    task, again = evaluate(run, files[1], html_file=tmp_path / "page.html")
    assert type(task).__name__ == "QuestionType" and again["loss"] == pytest.approx(metrics["loss"], abs=1e-6)
    given = answers(run, [{"text": "jump the a"}, {"text": "walk a"}])
    assert [answer["label"] for answer in given] == ["NUM", "HUM"]
    report = export_savedmodel(run, tmp_path / "served")
    assert report["max_difference"] <= 1e-5


def test_what_it_has_not_is_said_in_a_sentence(config):
    task = TASKS["question_type"](("HUM", "NUM"))
    assert task.page is task.soft_targets is task.write_predictions is None
    with pytest.raises(ValueError, match="which does not say which answers are the same"):
        check_task(SimpleNamespace(task=task, path="run"))
