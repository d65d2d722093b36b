"""Runs that kbert wrote before its files had format versions load, resume, convert and answer, for ever.

Made by the commit before `format_version` came: a pretraining of 8 steps, stopped at step 4 with its metrics
kept whole, and a classifier trained from it, also stopped at step 4; the data lie beside them.
"""

import json
import shutil
from pathlib import Path

import pytest

import kbert
from kbert.config import FinetuningConfig, PretrainingConfig, from_dict
from kbert.experiments.finetuning import run_finetuning
from kbert.experiments.pretraining import run_pretraining
from kbert.runs.checkpoint import read_state
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory

STORED = Path(__file__).resolve().parents[2] / "stored_before_format_version"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """The folder of the runs, copied, as it was when they were trained: paths are relative to it."""
    names = {
        "records_pretraining": "records",
        "run_pretraining": "pretraining",
        "run_classifier": "classifier",
    }
    for name, path in names.items():
        shutil.copytree(STORED / name, tmp_path / path)
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / "classifier" / name).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def losses(lines, step):
    """What was measured after `step`, without rates and times; machines round differently."""
    names = ("masked_lm_loss", "next_sentence_loss", "loss", "accuracy", "learning_rate", "tokens_seen")
    return [
        {name: pytest.approx(line[name], rel=1e-4) for name in names if name in line}
        | {"split": line["split"]}
        for line in lines
        if line["step"] > step
    ]


def config_of(path, config_class):
    return from_dict(config_class, json.loads((path / "config.json").read_text()))


@pytest.mark.slow
@pytest.mark.long
def test_a_stored_pretraining_resumes_to_its_numbers(stored, caplog):
    path = stored / "pretraining"
    expected = read_metrics(path / "metrics.jsonl")
    run_pretraining(config_of(path, PretrainingConfig), "pretraining", "records", "records")
    assert "cannot check whether the training data are the same as before" in caplog.text
    written = read_metrics(path / "metrics.jsonl")
    assert losses(written, 4) == losses(expected, 4)
    assert [line["step"] for line in written] == [line["step"] for line in expected]
    assert RunDirectory(path).checkpoint("last").name == "step-00000008"


@pytest.mark.slow
def test_a_stored_classifier_resumes_to_its_numbers_and_answers(stored):
    path = stored / "classifier"
    state = read_state(path / "checkpoints" / "step-00000004")
    assert "choices" not in state["config"]["dataset"]  # it came later; its default is no change
    expected = read_metrics(path / "metrics.jsonl")
    run_finetuning(
        config_of(path, FinetuningConfig), "classifier", "train.tsv", "dev.tsv", init_checkpoint="pretraining"
    )
    assert losses(read_metrics(path / "metrics.jsonl"), 4) == losses(expected, 4)
    (answer,) = kbert.TextClassifier(RunDirectory(path))(["jump over the dog"])
    assert answer["label"] in ("quiet", "loud")


def test_a_stored_run_converts_there_and_back(stored):
    from kbert.checkpoints.formats import read_checkpoint, write_checkpoint

    checkpoint = read_checkpoint(stored / "pretraining")
    write_checkpoint(checkpoint, stored / "hugging_face", "hugging_face")
    again = read_checkpoint(stored / "hugging_face")
    assert again.tensors.keys() == checkpoint.tensors.keys()
    for name, tensor in checkpoint.tensors.items():
        assert (again.tensors[name].read() == tensor.read()).all(), name


def test_what_a_newer_kbert_wrote_is_refused(stored):
    path = stored / "pretraining" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 99}))
    with pytest.raises(ValueError, match="run.json was written by a newer kbert: its format_version is 99"):
        RunDirectory(stored / "pretraining")
