"""`kbert.finetune`: what it asks of `run_finetuning`, and what it refuses. Its docstring's example trains."""

import json
from pathlib import Path

import numpy as np
import pytest

import kbert
from kbert.experiments import finetuning
from kbert.inference import loaded_model

TEXTS, LABELS = ["a fine day", "so-so, näh", "rain"], ["good", "bad", "bad"]


@pytest.fixture
def asked(monkeypatch):
    """What `run_finetuning` is asked for, with the rows of its files; nothing is trained."""
    asked = {}

    def run_finetuning(config, run_dir, **arguments):
        for name in ("train_file", "dev_file"):
            if name in arguments:
                lines = Path(arguments[name]).read_text(encoding="utf-8").splitlines()
                arguments[name] = [json.loads(line) for line in lines]
        asked.update(arguments, config=config, run_dir=run_dir)

    monkeypatch.setattr(finetuning, "run_finetuning", run_finetuning)
    monkeypatch.setattr(loaded_model, "load", lambda path: ("the model of", path))
    return asked


def test_the_lists_become_files_and_settings_find_their_places(asked, tmp_path):
    model = kbert.finetune(
        TEXTS, LABELS, "bert-base-uncased", tmp_path / "run", num_train_epochs=2, learning_rate=3e-5
    )
    assert model == ("the model of", tmp_path / "run") and asked["run_dir"] == tmp_path / "run"
    assert asked["init_checkpoint"] == "bert-base-uncased" and "dev_file" not in asked
    assert [row["text"] for row in asked["train_file"]] == TEXTS
    assert [row["label"] for row in asked["train_file"]] == LABELS
    config = asked["config"]
    assert (config.num_train_epochs, config.optimizer.learning_rate) == (2.0, 3e-5)
    assert config.dataset.text_pair is None and config.eval_every_epochs is None


def test_pairs_numbers_and_a_development_set(asked):
    values = np.array([0.5, 1, 2], np.float32)
    kbert.finetune(
        TEXTS,
        values,
        "checkpoint",
        text_pairs=TEXTS[::-1],
        dev_texts=TEXTS[:1],
        dev_labels=[3],
        dev_text_pairs=["b"],
        task="sequence_regression",
    )
    assert [row["text_pair"] for row in asked["train_file"]] == TEXTS[::-1]
    assert [row["label"] for row in asked["train_file"]] == [0.5, 1.0, 2.0]
    assert asked["dev_file"] == [{"text": TEXTS[0], "label": 3, "text_pair": "b"}]
    config = asked["config"]
    assert (config.task, config.dataset.text_pair, config.eval_every_epochs) == (
        "sequence_regression",
        "text_pair",
        1.0,
    )
    assert not Path(asked["run_dir"]).parent.exists(), "a temporary run is removed"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"texts": "a fine day"}, "texts is 'a fine day'; expected a list with one entry for each example"),
        ({"labels": "good"}, "labels is 'good'; expected a list"),
        ({"labels": ["good"]}, "3 texts but 1 labels; give one label for each text"),
        ({"texts": ["a", 3, "b"]}, r"texts\[1\] is int"),
        ({"dev_texts": ["a"]}, "dev_labels is None; expected a list"),
        ({"dev_labels": ["good"]}, "dev_labels is given without dev_texts, which it belongs to; give both"),
        ({"dev_text_pairs": ["a"]}, "dev_text_pairs is given without dev_texts, which it belongs to"),
        ({"epochs": 3}, "epochs=3 is no setting of a fine-tuning"),
        ({"num_train_epochs": -1}, "--override='num_train_epochs=-1': num_train_epochs"),
        ({"max_train_examples": 0}, "max_train_examples=0 must be positive"),
    ],
)
def test_what_does_not_go_together_is_refused(asked, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        kbert.finetune(**({"texts": TEXTS, "labels": LABELS, "init": "checkpoint"} | changes))
    assert not asked
