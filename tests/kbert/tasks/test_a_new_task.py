"""What docs/add_a_task.md promises: one file and one config make a task, and every command knows it.

The task is that of TREC's question types: files of lines "KIND:detail the question", as Li and Roth (2002)
have them. The data are made here.
"""

import importlib.util
import json

import pytest

import kbert
from kbert.config import FinetuningConfig, load_config
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.kbert.inference.answering import answers

TASK = '''
"""The kind of answer that a question asks for."""

from kbert.files.text_file import read_lines
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.sequences.sequence_classification import SequenceClassification


class QuestionType(SequenceClassification):
    """Lines of "KIND:detail question" -> KIND."""

    name = "question_type"

    @classmethod
    def read_examples(cls, path, dataset, with_labels=True):
        for number, line in enumerate(read_lines(path), start=1):
            kind, colon, rest = line.partition(":")
            detail, space, question = rest.partition(" ")
            if not (kind and colon and detail and space and question):
                raise ValueError(f"{path} line {number}: expected 'KIND:detail question', received {line!r}.")
            yield LabelledText(question, None, kind if with_labels else None)
'''

CONFIG = """
description = "Question types."
task = "question_type"
max_seq_length = 16
train_batch_size = 8
eval_batch_size = 8
num_train_epochs = 4
[optimizer]
name = "adamw"
learning_rate = 5e-3
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The config, with the task as a program of the user's own has it."""
    (tmp_path / "question_type.py").write_text(TASK, encoding="utf-8")
    (tmp_path / "question_type.toml").write_text(CONFIG, encoding="utf-8")
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


@pytest.mark.slow
def test_a_task_of_one_file_and_one_config(config, pretraining_run, tmp_path):
    files = write_questions(tmp_path / "train.txt", 20), write_questions(tmp_path / "dev.txt", 4)
    _, metrics = finetune(config, tmp_path / "run", *files, init_checkpoint=pretraining_run.path)
    assert metrics["accuracy"] == 1.0
    run = RunDirectory(tmp_path / "run")
    assert json.loads((run.path / "run.json").read_text())["task_config"]["labels"] == ["HUM", "NUM"]
    task, again = evaluate(run, files[1])
    assert type(task).__name__ == "QuestionType" and again["loss"] == pytest.approx(metrics["loss"], abs=1e-6)
    (answer,) = answers(run, [{"text": "jump the a"}])
    assert answer["label"] == "NUM"
    assert kbert.TextClassifier(kbert.load(run.path))("walk a")["label"] == "HUM"


def test_its_own_errors_name_file_and_line(config, pretraining_run, tmp_path):
    train = write_questions(tmp_path / "train.txt", 2)
    train.write_text(train.read_text() + "NUM how many?\n")
    with pytest.raises(ValueError, match="train.txt line 5: expected 'KIND:detail question', received 'NUM"):
        finetune(config, tmp_path / "run", train, init_checkpoint=pretraining_run.path)
    assert not (tmp_path / "run").exists()
