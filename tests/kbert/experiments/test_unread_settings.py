"""A run that was made when a setting that nothing reads was still taken goes on, answers and is evaluated."""

import dataclasses

import pytest

import kbert
from kbert.config import DatasetConfig
from kbert.experiments import finetuning, finetuning_data
from tests.conftest import LABELS, tiny_finetuning_config

pytestmark = pytest.mark.long

DATASET = DatasetConfig("sentence", labels=LABELS, document="day", negatives=("no",), delimiter="\t")
CONFIG = tiny_finetuning_config(dataset=DATASET)


@pytest.fixture
def train(labelled_files, pretraining_run):
    """Function that trains, or goes on with, a run in a folder."""
    return lambda config, path: kbert.finetune(
        config, path, *labelled_files, init_checkpoint=pretraining_run.path
    )


def test_a_run_of_before_goes_on_answers_and_is_evaluated(tmp_path, train, labelled_files, monkeypatch):
    with pytest.raises(ValueError, match=r"would not read dataset\.negatives=\['no'\].*dataset\.document="):
        train(CONFIG, tmp_path / "run")
    with monkeypatch.context() as before:
        for module in (finetuning, finetuning_data):
            before.setattr(module, "require_read_by_new_run", lambda *_: None)
        metrics = train(CONFIG, tmp_path / "run")[1]
    assert train(CONFIG, tmp_path / "run")[1]["loss"] == pytest.approx(metrics["loss"])
    other = dataclasses.replace(CONFIG, dataset=dataclasses.replace(DATASET, sentence="other"))
    with pytest.raises(ValueError, match=r"it differs in dataset\.sentence"):
        train(other, tmp_path / "run")
    assert kbert.load(tmp_path / "run").predict("walk a")["label"] in LABELS
    evaluated = kbert.evaluate(tmp_path / "run", labelled_files[1])[1]
    assert evaluated["accuracy"] == pytest.approx(metrics["accuracy"])
