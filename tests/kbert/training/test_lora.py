"""A training of adapters: what is saved, and what answers."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kbert
from kbert.config import LoraConfig
from kbert.config.lora_config import is_adapter
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.runs import checkpoint
from kbert.runs.base_weights import merged_weights
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.conftest import tiny_finetuning_config

LORA = LoraConfig(rank=2, alpha=8.0, dropout=0.3)


def test_merged_kernels_are_those_of_the_paper(tmp_path):
    """W + (alpha / rank) A B, of adapters as large as the kernel; what a short training gives is small."""
    rng = np.random.default_rng(3)
    shapes = {"kernel": (6, 5), "lora_a": (6, 2), "lora_b": (2, 5), "bias": (5,)}
    values = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    query = "layer_0/attention/query"
    save_file({f"{query}/{name}": values[name] for name in ("kernel", "bias")}, tmp_path / "base")
    trained = {f"{query}/{name}": values[name] for name in ("lora_a", "lora_b")}
    save_file(trained | {"pooler/dense/bias": values["bias"]}, tmp_path / "trained")
    merged = merged_weights(tmp_path / "base", tmp_path / "trained", LORA)
    assert set(merged) == {f"{query}/kernel", f"{query}/bias", "pooler/dense/bias"}
    expected = values["kernel"] + 8.0 / 2 * values["lora_a"] @ values["lora_b"]
    np.testing.assert_allclose(merged[f"{query}/kernel"].read(), expected, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def lora_run(pretraining_run, labelled_files, tmp_path_factory):
    """(its `RunDirectory`, metrics, config)"""
    folder = tmp_path_factory.mktemp("lora") / "run"
    config = tiny_finetuning_config(lora=LORA, num_train_epochs=1.0, dropout_prob=0.0)
    _, metrics = finetune(config, folder, *labelled_files, init_checkpoint=pretraining_run.path)
    return RunDirectory(folder), metrics, config


@pytest.mark.long
def test_checkpoints_hold_adapters_and_heads_and_the_run_the_rest_once(lora_run, pretraining_run):
    run, _, _ = lora_run
    saved = load_file(run.checkpoint() / checkpoint.WEIGHTS_FILE)
    assert {name.split("/")[0] for name in saved if not is_adapter(name)} == {"pooler", "classification"}
    assert sum(map(is_adapter, saved)) == 4  # query and value of the one layer
    slots = load_file(run.checkpoint() / checkpoint.OPTIMIZER_FILE)
    assert {name.rpartition("/")[0] for name in slots} == set(saved)
    base = load_file(run.path / "base" / "step-00000000" / checkpoint.WEIGHTS_FILE)
    there = load_file(pretraining_run.checkpoint() / checkpoint.WEIGHTS_FILE)
    for name, value in base.items():
        np.testing.assert_array_equal(value, there[name], err_msg=name)
    assert not base.keys() & saved.keys()


@pytest.mark.long
def test_the_loaded_model_is_plain_and_answers_as_the_adapted_one(lora_run, labelled_files):
    run, metrics, config = lora_run
    _, task, plain = run.load_checkpoint()
    adapted = task.build_model(BertEncoder(run.config.encoder, lora=LORA))
    saved = load_file(run.checkpoint() / checkpoint.WEIGHTS_FILE)
    saved |= load_file(run.path / "base" / "step-00000000" / checkpoint.WEIGHTS_FILE)
    for name, variable in trained_weights(adapted).items():
        variable.assign(saved[name])
    assert not any(map(is_adapter, trained_weights(plain)))
    rng = np.random.default_rng(1)
    ids = rng.integers(5, 20, (4, 9)).astype(np.int32)
    inputs = {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    np.testing.assert_allclose(plain(inputs)["logits"], adapted(inputs)["logits"], atol=1e-5)
    kernel = "layer_0/attention/query/kernel"
    assert np.abs(trained_weights(plain)[kernel].numpy() - saved[kernel]).max() > 1e-4
    _, evaluated = evaluate(run, labelled_files[1])  # training evaluated the adapted one
    assert evaluated["loss"] == pytest.approx(metrics["loss"], abs=1e-5)


@pytest.mark.long
def test_a_converted_run_has_merged_weights(lora_run, tmp_path):
    run, _, _ = lora_run
    expected = kbert.load(run.path).predict("the dog will jump")
    convert_checkpoint(run.path, tmp_path / "merged", "kbert")
    shutil.move(run.path / "base", tmp_path / "base_aside")
    try:
        merged = kbert.load(tmp_path / "merged").predict("the dog will jump")
        with pytest.raises(ValueError, match=r"needs the weights in .*base, which are those of .*pretrain"):
            run.load_checkpoint()
    finally:
        shutil.move(tmp_path / "base_aside", run.path / "base")
    assert merged["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)
