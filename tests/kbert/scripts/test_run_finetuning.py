"""Fine-tuning: what it takes from the pretrained run, and what it refuses before anything is written."""

import json
import math

import numpy as np
import pytest

from kbert.cli.signals import StoppedBySignal
from kbert.config import DatasetConfig, OptimizerConfig
from kbert.experiments import seeds as seeds_module
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.seeds import run_seeds
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.training import one_weight
from tests.kbert.training.run_contents import numbers, signal_after_call


def test_a_run_records_all_that_its_users_need(finetuned_run, pretraining_run, labelled_files):
    run = finetuned_run
    assert run.config.encoder == pretraining_run.config.encoder
    assert run.config.dataset.labels == ("quiet", "loud")
    assert run.details["vocabulary"] == pretraining_run.details["vocabulary"]
    assert run.details["num_train_examples"] == 40
    # Steps as in the original scripts: int(examples / batch x epochs).
    assert run.checkpoint().name == f"step-{int(40 / 8 * 2.0):08d}"
    (evaluation,) = [line for line in read_metrics(run.metrics_file) if line["split"] == "eval"]
    assert sum(map(sum, evaluation["confusion"])) == 13


REFUSED = {
    "another encoder": (
        {"encoder": tiny_encoder_config(num_hidden_layers=3)},
        "num_hidden_layers (3 here, 1 there). Leave `encoder` out to take the checkpoint's; "
        "kbert convert --max_position_embeddings=N writes it with more positions.",
    ),
    "large batch": (
        {"train_batch_size": 64},
        "has 40 examples, fewer than one batch of 64; give more, or set train_batch_size=40 or lower",
    ),
    "no step": (
        {"num_train_epochs": 0.1},
        "are less than one step; raise num_train_epochs to 0.201 or more, or set train_batch_size=4 or",
    ),
    "no step of any batch": (
        {"num_train_epochs": 0.01, "train_batch_size": 1},
        "epochs are less than one step; raise num_train_epochs to 0.026 or more.",
    ),
    "large batch of what is left": (
        {"train_batch_size": 36, "dev_split": 0.1, "max_train_examples": 30},
        " with dev_split=0.1, max_train_examples=30 has 30 examples, fewer than one batch of 36;",
    ),
    "unlisted label": (
        {"dataset": DatasetConfig(text="sentence", labels=("a", "b"))},
        "line 2: label 'quiet' is not among the labels ['a', 'b'], those of dataset.labels",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_write_nothing(pretraining_run, labelled_files, tmp_path, changes, sentence):
    config = tiny_finetuning_config(**changes)
    with pytest.raises(ValueError) as error:
        finetune(config, tmp_path / "run", labelled_files[0], init_checkpoint=pretraining_run.path)
    assert sentence in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_pretraining_evaluation_and_its_baseline(pretraining_run, records_dir):
    _, metrics = evaluate(pretraining_run, input_dir=records_dir / "heldout", batch_size=7)
    recorded = read_metrics(pretraining_run.metrics_file)[-1]
    for name in ("masked_lm_loss", "next_sentence_loss", "masked_lm_accuracy", "next_sentence_accuracy"):
        assert metrics[name] == pytest.approx(recorded[name], abs=1e-5)
    assert metrics["baseline_token"] in pretraining_run.vocabulary().tokens
    assert 1 / 22 < metrics["baseline_accuracy"] < 1 and math.isfinite(metrics["masked_lm_loss"])


# ------------------------------------------------------------------------------ early stopping, seeds


@pytest.mark.slow
@pytest.mark.long
def test_seeds_give_mean_and_deviation_and_go_on_where_they_stopped(labelled_files, tmp_path, monkeypatch):
    """With trainings of one weight; test_glue_benchmark.py stops whole ones."""

    def train(config, path, **_):
        data = one_weight.examples(24, config.seed)
        return None, one_weight.train_one_weight(path, config, data=data)[0]

    one_weight.register(monkeypatch)
    monkeypatch.setattr(seeds_module, "finetune", train)
    arguments = {"train_file": labelled_files[0], "dev_file": labelled_files[1]}
    # Clipped gradients of one weight are all alike.
    optimizer = OptimizerConfig(name="adamw", learning_rate=0.05, global_clipnorm=1e9)
    config = one_weight.config_of(optimizer=optimizer)
    with monkeypatch.context() as patch:
        signal_after_call(patch, 5)
        with pytest.raises(StoppedBySignal):
            run_seeds(config, tmp_path / "seeds", [1, 2], **arguments)
    assert not (tmp_path / "seeds" / "summary.json").exists()
    summary = run_seeds(config, tmp_path / "seeds", [1, 2], **arguments)
    assert json.loads((tmp_path / "seeds" / "summary.json").read_text()) == summary
    runs = [RunDirectory(tmp_path / "seeds" / f"seed-{seed}") for seed in (1, 2)]
    assert [run.config.seed for run in runs] == [1, 2]
    losses = [numbers(run)[-1]["loss"] for run in runs]
    assert summary["metrics"]["loss"]["values"] == losses and losses[0] != losses[1]
    assert summary["metrics"]["loss"]["mean"] == pytest.approx(np.mean(losses))
