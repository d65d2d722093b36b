"""Nothing outside kbert/tasks asks which task it is: no key of TASKS as a string, no task class by name."""

import ast
from pathlib import Path

import pytest

from kbert.tasks import TASKS

ROOT = Path(__file__).resolve().parents[3]
CLASSES = {TASKS[name].__name__ for name in TASKS}
# Words that are keys of TASKS and mean something else in these places.
EXEMPT = {
    "kbert/__init__.py": "the list of public names",
    "kbert/features.py": "names of features and of kinds of records",
    "kbert/checkpoints/conversion/names.py": "names of parts in other people's files",
    "kbert/checkpoints/model_garden.py": "names of parts in other people's files",
    "kbert/config/finetuning_config.py": "the default of a config's task",
    "kbert/checkpoints/bert_config_file.py": "Hugging Face's own words",
}
# "encoder" is a key of configs, "masked_lm" a layer, "next_sentence" a count in statistics, "sentence_order"
# a strategy of the data tools, "pretraining" a stage of the quickstart.
OTHER_MEANINGS = {
    "encoder": ("kbert/", "tfrecords_tools/", "export/"),
    "masked_lm": ("kbert/heads/",),
    "next_sentence": ("tfrecords_tools/",),
    "sentence_order": ("tfrecords_tools/",),
    "pretraining": ("kbert/quickstart/",),
}


def sources():
    for folder in ("kbert", "tfrecords_tools", "export"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith("kbert/tasks/") and name not in EXEMPT:
                yield name, ast.parse(path.read_text(encoding="utf-8"))


def questions(name, tree):
    """The places where a module names a task."""
    docstrings = set()
    for node in ast.walk(tree):  # a statement comes before its value
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if node.value in TASKS and not name.startswith(OTHER_MEANINGS.get(node.value, ("-",))):
                yield f"{name}:{node.lineno} {node.value!r}"
        elif isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            if word in CLASSES:
                yield f"{name}:{node.lineno} {word}"


def test_nobody_asks_which_task_it_is():
    assert [place for name, tree in sources() for place in questions(name, tree)] == []


@pytest.mark.parametrize(
    "line", ['if task.name == "sequence_regression": pass', "SequenceRegression()", "kbert.MaskedLM"]
)
def test_a_question_is_found(line):
    assert list(questions("kbert/training/trainer.py", ast.parse(line)))
