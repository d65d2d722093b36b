"""A temperature and a threshold that an evaluation chose: kept with the run, and in every answer."""

import json
import shutil

import pytest

from kbert.experiments.evaluation import evaluate
from kbert.runs.run_directory import RunDirectory
from tests.html_checks import read_page
from tests.kbert.experiments.served_answers import assert_served
from tests.kbert.inference.answering import answers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chosen(finetuned_run, labelled_files, tmp_path_factory):
    """(a copy of the run with what an evaluation chose, metrics of that evaluation)."""
    folder = tmp_path_factory.mktemp("chosen")
    run = RunDirectory(shutil.copytree(finetuned_run.path, folder / "run"))
    _, metrics = evaluate(run, labelled_files[1], batch_size=8, keep_chosen=True)
    return run, metrics


def texts_of(labelled_files):
    lines = labelled_files[1].read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines]


def test_an_evaluation_reaches_what_it_chose_and_chooses_the_same_again(chosen, labelled_files, tmp_path):
    run, before = chosen
    kept = json.loads((run.path / "chosen.json").read_text(encoding="utf-8"))
    expected = {name: before[f"chosen_{name}"] for name in ("temperature", "threshold")}
    assert kept["task_config"] == expected
    _, after = evaluate(run, labelled_files[1], batch_size=8, html_file=tmp_path / "dev.html")
    assert after["f1"] == pytest.approx(before["best_f1"])
    assert after["temperature"] == before["chosen_temperature"] and before["temperature"] == 1
    assert after["calibration_error"] == pytest.approx(before["chosen_calibration_error"], abs=1e-6)
    for name in ("chosen_temperature", "chosen_threshold", "loss"):  # from the logits, which stay as they are
        assert after[name] == pytest.approx(before[name], rel=1e-5)
    page = read_page(tmp_path / "dev.html")
    assert f"Expected calibration error {100 * after['calibration_error']:.1f}%" in page


@pytest.mark.long
def test_python_and_the_saved_model_answer_by_it(chosen, finetuned_run, labelled_files, tmp_path):
    run, metrics = chosen
    texts = texts_of(labelled_files)[:12]
    plain, given = (list(answers(one, [{"text": text} for text in texts])) for one in (finetuned_run, run))
    first, second = finetuned_run.task().labels
    for before, after in zip(plain, given, strict=True):
        odds = before["probabilities"][second] / before["probabilities"][first]
        cooled = odds ** (1.0 / metrics["chosen_temperature"])
        assert after["probabilities"][second] == pytest.approx(cooled / (1.0 + cooled), rel=1e-3)
        is_positive = after["probabilities"][second] >= metrics["chosen_threshold"]
        assert after["label"] == (second if is_positive else first)
    assert_served(run, texts, given, tmp_path / "served")
