"""Whatever becomes of padding, whole trainings come out the same."""

import dataclasses

import pytest
import tensorflow as tf

from kbert.config import FinetuningConfig, PretrainingConfig
from kbert.experiments.finetuning import finetune
from kbert.runs.metrics_file import read_metrics
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.training.padding import resolve_packing
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.tfrecords_tools import small_corpus

ONE = tf.distribute.get_strategy()


@pytest.fixture(scope="module")
def trained(labelled_files, tmp_path_factory):
    """Function from settings to (losses of all steps, metrics of the evaluation) of a fine-tuning."""

    def train(**settings):
        config = tiny_finetuning_config(
            encoder=tiny_encoder_config(), dropout_prob=0.0, num_train_epochs=1.0, log_every_steps=1,
            pad_to_longest=False, **settings,
        )  # fmt: skip
        path = tmp_path_factory.mktemp("runs") / "run"
        _, metrics = finetune(config, path, *labelled_files, vocabulary=small_corpus.vocabulary())
        lines = [line for line in read_metrics(path / "metrics.jsonl") if line["split"] == "train"]
        return [line["loss"] for line in lines], metrics

    return train


@pytest.fixture(scope="module")
def kept(trained):
    return trained(padding="keep")


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"padding": "pack"}, marks=pytest.mark.long),
        pytest.param({"padding": "pack", "gradient_accumulation_steps": 2}, marks=pytest.mark.exhaustive),
        pytest.param({"padding": "pack", "packed_rows": 6}, marks=pytest.mark.exhaustive),
        pytest.param(
            {"padding": "pack", "packed_rows": 8, "gradient_accumulation_steps": 2},
            marks=pytest.mark.exhaustive,
        ),
        pytest.param({"padding": "pack", "packed_rows": 6, "jit_compile": True}, marks=pytest.mark.long),
        pytest.param({"padding": "keep", "recompute_activations": True}, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_a_training_comes_out_the_same(kept, trained, settings):
    losses, metrics = trained(**settings)
    assert losses == pytest.approx(kept[0], abs=2e-5)
    assert losses[0] != pytest.approx(losses[-1], abs=1e-3)
    assert metrics["loss"] == pytest.approx(kept[1]["loss"], abs=2e-5)
    assert metrics["confusion"] == kept[1]["confusion"]


def test_auto_packs_where_shapes_vary_anyway():
    varying, fixed = (FinetuningConfig(pad_to_longest=value) for value in (True, False))
    assert resolve_packing(Pretraining(), [varying], ONE)
    assert not resolve_packing(Pretraining(), [fixed], ONE)
    assert not resolve_packing(Pretraining(), [PretrainingConfig()], ONE)
    assert resolve_packing(Pretraining(), [dataclasses.replace(fixed, padding="pack")], ONE)
    assert not resolve_packing(Pretraining(), [dataclasses.replace(varying, padding="keep")], ONE)


def test_one_encoder_serves_all_phases():
    """It packs where one of them needs it, unless another is compiled."""
    varying, fixed = FinetuningConfig(pad_to_longest=True), PretrainingConfig()
    compiled = dataclasses.replace(fixed, jit_compile=True)
    assert resolve_packing(Pretraining(), [varying, fixed], ONE) and resolve_packing(
        Pretraining(), [fixed, varying], ONE
    )
    assert not resolve_packing(Pretraining(), [varying, compiled], ONE)
