import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import training_step
from benchmarks.workers import environments, starting_point
from benchmarks.workers.contestants import Record
from kbert.config import EncoderConfig

_REPOSITORY = Path(__file__).resolve().parents[2]


def _record(*seconds):
    steps = [{"seconds": s, "cpu_seconds": 2 * s, "masked_lm_loss": 7.0} for s in seconds]
    return Record({}, steps, None, 1000.0)


def _records():
    products = [{"seconds": 1.0, "cpu_seconds": 1.0, "float32": 200.0, "bfloat16": 400.0}] * 5
    return {
        ("kbert", False, "float32"): _record(9.0, 9.0, 1.0, 2.0, 1.0),
        ("kbert", False, "bfloat16"): _record(9.0, 9.0, 0.5, 0.6, 0.5),
        ("model_garden", False, "float32"): _record(9.0, 9.0, 1.0, 0.9, 0.8),
        ("hugging_face", True, "bfloat16"): _record(9.0, 9.0, 2.0, 2.0, 2.0),
        "matmul": Record({}, products),
    }


def test_each_counts_with_its_better_precision_and_warm_up_does_not_count():
    results, peaks = training_step.summarize(_records(), flops=100e9)
    closing = training_step.summary(results, peaks, flops=100e9)
    assert closing["kbert"] == {"seconds": 0.5, "precision": "bfloat16", "compiled": False}
    assert closing["peers"]["Model Garden"]["seconds"] == 0.9
    assert (closing["ratio"], closing["ratio_to"]) == (1.8, "Model Garden")
    assert closing["floor_seconds"] == {"float32": 0.5, "bfloat16": 0.25}


def test_share_is_that_of_the_matrix_products_in_the_same_precision():
    results, _ = training_step.summarize(_records(), flops=100e9)
    assert results["kbert", False, "float32"]["share"] == pytest.approx(0.5)
    assert results["kbert", False, "bfloat16"]["share"] == pytest.approx(0.5)


def test_table_has_a_row_for_each_and_for_both_floors():
    results, peaks = training_step.summarize(_records(), flops=100e9)
    lines = training_step.table(results, peaks, flops=100e9).splitlines()
    assert len(lines) == 2 + 4 + 2
    assert len({line.count("|") for line in lines}) == 1
    assert lines[5].startswith("| Hugging Face (compiled) | bfloat16 | 2.000 |")


def test_a_precision_in_which_nobody_took_part_has_no_floor():
    records = {key: record for key, record in _records().items() if "bfloat16" not in key}
    for step in records["matmul"].steps:
        step.pop("bfloat16", None)
    _, peaks = training_step.summarize(records, flops=100e9)
    assert peaks == {"float32": 200.0}


def test_contestants_are_checked_by_name():
    parsed = training_step.checked_contestants(["kbert", "model_garden+compile"], ["float32"])
    assert parsed == [("kbert", False), ("model_garden", True)]
    with pytest.raises(ValueError, match="--contestants names 'fairseq'; choose among kbert, model_garden"):
        training_step.checked_contestants(["fairseq"], ["float32"])
    with pytest.raises(ValueError, match="--precisions names 'int8'; choose among float32, bfloat16"):
        training_step.checked_contestants(["kbert"], ["int8"])


def test_random_batches_have_distinct_masked_positions_and_no_special_ids():
    batches = starting_point.random_batches(2, 3, 16, 5, vocab_size=50)
    positions = batches["masked_lm_positions"].reshape(-1, 5)
    assert all(len(set(row)) == 5 for row in positions)
    assert positions.min() >= 1 and positions.max() < 16
    assert batches["input_ids"].shape == (2, 3, 16) and batches["input_ids"].min() >= 5
    again = starting_point.random_batches(2, 3, 16, 5, vocab_size=50)
    assert all(np.array_equal(values, again[name]) for name, values in batches.items())


@pytest.mark.slow
def test_first_weights_are_the_same_in_every_form(tmp_path):
    from kbert.checkpoints.formats import read_checkpoint

    encoder = EncoderConfig(
        vocab_size=40,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    places = starting_point.write_weights(tmp_path, encoder, None, keras_hub=True)
    with np.load(places["weights"]) as arrays:
        weights = dict(arrays)
    read = read_checkpoint(places["hugging_face_folder"])
    assert set(read.tensors) == set(weights)
    assert all(np.array_equal(read.tensors[name].read(), value) for name, value in weights.items())
    preset = read_checkpoint(places["keras_hub_folder"], True)
    assert all(np.array_equal(tensor.read(), weights[name]) for name, tensor in preset.tensors.items())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contestants=me"], "--contestants names 'me'"),
        (["--model_garden_python=/no/python"], "--model_garden_python=/no/python does not exist"),
    ],
)
def test_wrong_flags_end_with_one_sentence(arguments, said):
    command = [sys.executable, "-m", "benchmarks.training_step", *arguments]
    ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: {said}") and ended.stderr.count("\n") == 1


def test_every_peer_has_its_requirements_and_its_worker():
    workers = _REPOSITORY / "benchmarks" / "peers"
    for peer in environments.PEERS:
        lines = (workers / f"{peer}.txt").read_text().splitlines()
        pins = [line.split("#")[0].strip() for line in lines]
        assert all("==" in pin for pin in pins if pin), peer
        kind = "serving" if peer == "onnx_runtime" else "pretraining"
        assert (workers / f"{peer}_{kind}.py").is_file()


@pytest.mark.slow
@pytest.mark.long
def test_kberts_worker_takes_real_steps(tmp_path):
    from benchmarks.workers.contestants import Contestant
    from kbert.config import OptimizerConfig

    encoder = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 16,
    }
    settings = starting_point.write_weights(tmp_path, EncoderConfig(**encoder), None, keras_hub=False)
    np.savez(tmp_path / "batches.npz", **starting_point.random_batches(1, 4, 16, 3, 40))
    optimizer = OptimizerConfig(learning_rate=1e-2)
    names = ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "global_clipnorm")
    settings |= {
        "encoder": encoder,
        "batches": str(tmp_path / "batches.npz"),
        "optimizer": {name: getattr(optimizer, name) for name in names},
        "precision": "float32",
        "num_train_steps": 1000,
        "num_warmup_steps": 0,
        "seed": 1,
    }
    command = [sys.executable, "-m", "benchmarks.workers.kbert_pretraining"]
    worker = Contestant("kbert", command, json.loads(json.dumps(settings)), threads=1, cwd=_REPOSITORY)
    try:
        worker.take_turn(20)
    finally:
        worker.close()
    losses = [step["masked_lm_loss"] for step in worker.record.steps]
    assert len(losses) == 20 and losses[-1] < losses[0]
