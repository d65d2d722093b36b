"""Regression, several labels, multiple choice: trained, judged, asked and recorded alike."""

import contextlib
import functools
import io
import json
import shutil

import numpy as np
import pytest

from export.export_savedmodel import export_savedmodel
from export.gate.session_check import run_signature
from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_finetuning_config
from tests.html_checks import read_page
from tests.kbert.experiments.small_rows import dataset_of, rows_of, write_rows
from tests.kbert.inference.answering import answers
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.show_records import show_records


def example_of(task):
    example = {"text": "the jump a"}
    if task == "sequence_regression":
        example["text_pair"] = "jump and ask"
    if task == "multiple_choice":
        example["choices"] = ["look", "jump and ask", "open"]
    return example


def show(directory) -> str:
    """What show_records prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_records(directory)
    return printed.getvalue()


def flat(metrics) -> dict:
    """Metrics as single numbers. Ranks are left out: they break ties by noise."""
    lists = {f"{name} {n}": v for name, value in metrics.items() if isinstance(value, list)
             for n, v in enumerate(value)}  # fmt: skip
    numbers = {name: value for name, value in metrics.items() if not isinstance(value, list)}
    return {name: value for name, value in (numbers | lists).items() if name != "spearman"}


TASKS = [
    "sequence_regression",
    pytest.param("multiple_choice", marks=pytest.mark.exhaustive),
    pytest.param("multi_label_classification", marks=pytest.mark.exhaustive),
]


@pytest.fixture(scope="module")
def trained(pretraining_run, tmp_path_factory):
    """Function from a task's name to (folder, dev file, task, metrics) of a training; it is trained once.

    Nobody may change the run's folder.
    """

    @functools.cache
    def train(name):
        folder = tmp_path_factory.mktemp(name)
        for split, number in (("train", 16), ("dev", 9)):
            write_rows(folder / f"{split}.jsonl", rows_of(name, number))
        config = tiny_finetuning_config(task=name, dataset=dataset_of(name))
        dev, start = folder / "dev.jsonl", pretraining_run.path
        task, metrics = finetune(config, folder / "run", folder / "train.jsonl", dev, start)
        return folder / "run", dev, task, metrics

    return train


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_task_walks_through_the_house(task, trained, tmp_path):
    path, dev, trained_task, metrics = trained(task)
    run = RunDirectory(shutil.copytree(path, tmp_path / "run"))
    assert (
        trained_task.name == task == run.task().name and run.task().get_config() == trained_task.get_config()
    )
    assert np.isfinite(metrics["loss"]) and trained_task.best_metric in metrics

    _, judged = evaluate(run, dev, batch_size=4, html_file=tmp_path / "dev.html", html_examples=3)
    page = read_page(tmp_path / "dev.html")
    assert page.count("<article") <= 3 and "<h2>By length</h2>" in page
    assert ("<article" in page) == (judged.get("accuracy") != 1)
    assert judged["num_examples"] == 9
    compared = {name: judged[name] for name in metrics}
    assert flat(compared) == pytest.approx(flat(metrics), abs=1e-5, nan_ok=True)

    records = tmp_path / "records"
    config_file = tmp_path / "config.json"
    config_file.write_text(json.dumps(to_dict(run.config)), encoding="utf-8")
    create_finetuning_data(config_file, dev, records, init_checkpoint=run.path)
    assert "[CLS] the jump" in show(records) and "WRONG" not in show(records)
    _, recorded = evaluate(run, input_dir=records, batch_size=5)
    assert recorded.keys() == judged.keys() and recorded["num_examples"] == 9
    compared = {name: recorded[name] for name in metrics}
    assert flat(compared) == pytest.approx(flat(metrics), abs=1e-5, nan_ok=True)

    (answer,) = answers(run, [example_of(task)])
    assert set(trained_task.serving.answers) <= set(answer) and json.dumps(answer, allow_nan=False)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_what_is_served_is_what_python_answers(task, trained, tmp_path):
    """With what an evaluation chose, where it chooses something."""
    path, dev, trained_task, _ = trained(task)
    run = RunDirectory(shutil.copytree(path, tmp_path / "run"))
    if trained_task.chooses:
        _, metrics = evaluate(run, dev, keep_chosen=True)
        loaded, _ = run.load_model()
        chosen = {name: loaded.get_config()[name] for name in trained_task.chooses}
        assert chosen == loaded.chosen(metrics)
    export_savedmodel(run, tmp_path / "served")
    example = example_of(task)
    inputs = {name: np.array([value], object) for name, value in example.items()}
    served = run_signature(str(tmp_path / "served" / "1"), "serving_default", inputs)
    (answer,) = answers(run, [example])
    if task == "multiple_choice":
        np.testing.assert_allclose(served["probabilities"][0], answer["probabilities"], atol=1e-5)
        assert served["choice_text"][0].decode() == answer["choice_text"]
    elif task == "multi_label_classification":
        given = [name for name, p in answer["probabilities"].items() if p >= chosen["thresholds"][name]]
        assert [name.decode() for name in served["labels"][0] if name] == answer["labels"] == given
    else:
        assert float(served["prediction"][0]) == pytest.approx(answer["prediction"], abs=1e-5)
