"""The public names: there, described, with an example that runs; and `import kbert` brings none of them."""

import doctest
import inspect
import os
import subprocess
import sys

import pytest

import kbert
from tests.places import REPOSITORY

NAMES = [name for name in kbert.__all__ if name != "__version__"]
_TRAINED = ("finetune", "TaskModel")  # whose examples take tens of seconds; other tests train both


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in _TRAINED else ()) for name in NAMES]
)
def test_the_example_of_every_public_name_runs(name, request, finetuned_run, pretraining_run, labelled_files):
    if name not in _TRAINED:  # those train with graphs
        request.getfixturevalue("eager")
    value = getattr(kbert, name)
    assert value.__module__ == kbert._PUBLIC[name] and value.__name__ == name
    assert inspect.getdoc(value), f"{name} has no docstring"
    surroundings = {
        "run_dir": str(finetuned_run.path),
        "pretraining_run_dir": str(pretraining_run.path),
        "eval_file": str(labelled_files[1]),
    }
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(value, name, globs=surroundings)
    assert test.examples, f"{name} has no example"
    report = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert results.failed == 0, "".join(report)


@pytest.mark.slow
@pytest.mark.long
def test_the_examples_of_the_guide_run(finetuned_run, pretraining_run, tmp_path, monkeypatch):
    guide = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "classifier").symlink_to(finetuned_run.path)
    (tmp_path / "runs" / "pretraining").symlink_to(pretraining_run.path)
    blocks = guide.split("```python\n")[1:]
    assert len(blocks) >= 4
    report = []
    surroundings = {}  # the guide is read from top to bottom
    for number, block in enumerate(blocks):
        code = block.split("```")[0]
        test = doctest.DocTestParser().get_doctest(
            code, surroundings, f"docs/api.md, block {number}", None, 0
        )
        results = doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
        surroundings = test.globs
        assert results.attempted and results.failed == 0, "".join(report)


def test_import_kbert_is_instant_and_without_tensorflow():
    code = (
        "import sys, time; start = time.process_time(); import kbert; seconds = time.process_time() - start; "
        "heavy = {'tensorflow', 'keras', 'numpy', 'absl'} & set(sys.modules); "
        "print(seconds < 0.5, heavy, kbert.EncoderConfig().hidden_size, 'tensorflow' in sys.modules, "
        "'kbert.cli.quiet_tensorflow' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "True set() 768 False True", result.stderr


@pytest.mark.long
@pytest.mark.parametrize("level", [None, "0"])
def test_tensorflow_starts_quietly_unless_the_user_has_chosen(level):
    code = (
        "import kbert; kbert.BertEncoder; import os, sys; import tensorflow as tf; tf.constant(1) + 1; "
        "print(os.environ['TF_CPP_MIN_LOG_LEVEL']); print('of this program', file=sys.stderr)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    environment |= {} if level is None else {"TF_CPP_MIN_LOG_LEVEL": level}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.stdout.strip() == (level or "3")
    assert (result.stderr.strip() == "of this program") == (level is None)


def test_a_path_without_a_model_is_refused_before_tensorflow_is_imported():
    code = (
        "import sys, kbert\ntry: kbert.load('nowhere/at/all')\n"
        "except ValueError as error: print(error, 'tensorflow' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.startswith("checkpoint nowhere/at/all does not exist"), result.stderr
    assert result.stdout.strip().endswith(" False")
