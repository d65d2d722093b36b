"""Strategies from flags, clusters from environments, and batches for every replica."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import Devices, FinetuningConfig
from kbert.input_pipelines.batches import evaluation_batches, training_batches
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.text_reader import RowsInMemory
from kbert.training.devices import cluster, distribution
from kbert.training.devices.distribution import (
    make_strategy,
)

TWO_WORKERS = {"worker": ["a:1", "b:1"]}


def tf_config(cluster, job="worker", index=0):
    return json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)


# ------------------------------------------------------------------------------------ shares of a batch


@pytest.mark.parametrize(
    ("batch", "replicas", "steps", "ways"),
    [
        (32, 3, 1, "choose a multiple of 3, or fewer devices (--strategy=one_device, or CUDA"),
        (32, 8, 8, "choose a multiple of 64, gradient_accumulation_steps=4, or fewer devices (--s"),
    ],
)
def test_a_run_that_keeps_its_batch_is_told_its_ways(batch, replicas, steps, ways):
    config = FinetuningConfig(train_batch_size=batch, gradient_accumulation_steps=steps)
    with pytest.raises(ValueError, match=re.escape(ways)):
        distribution.require_whole_shares(config, SimpleNamespace(num_replicas_in_sync=replicas), False)


def test_the_log_says_what_a_step_is_made_of(caplog):
    caplog.set_level("INFO", logger="absl")
    for steps in (1, 4):
        config = FinetuningConfig(train_batch_size=8, gradient_accumulation_steps=steps)
        distribution.log_shares(config, tf.distribute.get_strategy())
    (line,) = caplog.messages
    assert line.startswith("a step takes 8 examples: 1 x 4 micro-batches of 2 (replicas on ")


# ------------------------------------------------------------------------------------ make_strategy


def test_a_worker_that_alone_was_started_again_is_told_what_to_do(monkeypatch):
    def refuse():
        raise tf.errors.AbortedError(None, None, "its current incarnation doesn't match")

    monkeypatch.setattr(distribution, "wait_for_workers", lambda cluster: None)
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", refuse)
    with pytest.raises(ValueError, match="an earlier start: end all of them, and start all again"):
        distribution._workers_strategy(tf_config(TWO_WORKERS))


def test_one_device_is_what_is_there_without_a_cluster_or_gpus():
    assert make_strategy(Devices("one_device")) is tf.distribute.get_strategy()
    if len(tf.config.list_physical_devices("GPU")) < 2:
        assert make_strategy(Devices()) is tf.distribute.get_strategy()


def test_a_training_is_not_called_in_the_scope_of_a_strategy():
    with (
        tf.distribute.OneDeviceStrategy("CPU:0").scope(),
        pytest.raises(ValueError, match="outside of"),
    ):
        make_strategy(Devices())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"strategy": "parallel"}, "strategy='parallel' is not known; choose one of auto, one_device, "),
        (
            {"strategy": "multi_worker"},
            "strategy=multi_worker needs the environment variable TF_CONFIG in every",
        ),
        (
            {"strategy": "multi_worker", "num_devices": 2},
            "num_devices=2 works only with strategy=mirrored; multi_wor",
        ),
        ({"strategy": "multi_worker", "num_devices": 1}, "num_devices=1 works only with strategy=mirrored"),
        ({"strategy": "tpu", "tpu": "local", "num_devices": 1}, "num_devices=1 works only with strategy=mir"),
        (
            {"strategy": "mirrored", "num_devices": 64},
            "num_devices=64, but this process has only 1 CPU devices: a CPU is divided before TensorFlow is",
        ),
        ({"strategy": "mirrored", "num_devices": 0}, "num_devices=0 must be at least 1"),
        ({"num_devices": -1}, "num_devices=-1 must be at least 1"),
        (
            {"strategy": "auto", "num_devices": 2},
            "num_devices=2, but training is on one device: this machine has 0",
        ),
        (
            {"strategy": "one_device", "num_devices": 2},
            "For that many logical devices of a CPU give strategy=mirr",
        ),
        (
            {"strategy": "multi_worker", "cluster": "slurm"},
            "cluster=slurm: SLURM_PROCID is not set; start the ",
        ),
        (
            {"strategy": "multi_worker", "cluster": "mesos"},
            "cluster='mesos' is not known; choose one of tf_co",
        ),
        (
            {"cluster": "slurm"},
            "cluster='slurm' is read with strategy=multi_worker only, and strategy is auto;",
        ),
        ({"strategy": "mirrored", "tpu": "local"}, "tpu='local' is read with strategy=tpu only, and"),
        ({"strategy": "tpu"}, 'strategy=tpu needs tpu: the name of a TPU, or "local" on a TPU virtual'),
        (
            {"strategy": "tpu", "tpu": "local"},
            "tpu=local, but this machine has no TPU (neither /dev/accel0 nor",
        ),
    ],
)
def test_what_cannot_be_is_refused(arguments, sentence):
    tf.constant(0)  # TensorFlow's devices are made
    with pytest.raises(ValueError) as error:
        make_strategy(Devices(**arguments))
    assert sentence in str(error.value)


@pytest.mark.parametrize(("visible", "is_said"), [(None, True), ("0", True), ("-1", False), ("", False)])
def test_a_card_that_tensorflow_does_not_see_is_said(tmp_path, monkeypatch, caplog, visible, is_said):
    """Without a GPU to try: a file stands for its device."""
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(distribution, "_CARDS", str(tmp_path / "nvidia[0-9]*"))
    (tmp_path / "nvidiactl").touch()  # that of the driver alone
    make_strategy(Devices())
    assert "TensorFlow sees none" not in caplog.text
    (tmp_path / "nvidia0").touch()
    make_strategy(Devices())
    assert ("TensorFlow sees none, so the training is on the CPU" in caplog.text) == is_said


def test_auto_goes_by_the_cluster(monkeypatch):
    chosen = []
    monkeypatch.setattr(distribution, "_multi_worker", chosen.append)
    monkeypatch.setenv("TF_CONFIG", tf_config({"worker": ["a:1"]}))
    make_strategy(Devices(num_devices=1))
    assert chosen == []
    monkeypatch.setenv("TF_CONFIG", tf_config(TWO_WORKERS))
    make_strategy(Devices())
    assert chosen == ["tf_config"]


# ----------------------------------------------------------------------------------------- clusters


def test_workers_are_counted_chief_first():
    assert [*cluster.read_cluster(tf_config(TWO_WORKERS)).addresses] == [("worker", 0), ("worker", 1)]
    with_chief = {"worker": ["a:1"], "chief": ["c:1"]}
    addresses = cluster.read_cluster(tf_config(with_chief, "chief")).addresses
    assert [*addresses] == [("chief", 0), ("worker", 0)]


@pytest.mark.parametrize("key", ["sparseCluster", "Cluster"])  # the first is Kubeflow's, for elastic workers
@pytest.mark.parametrize("index", [0, 1])
def test_workers_of_no_cluster_do_not_train_alone(key, index):
    config = json.dumps({key: TWO_WORKERS, "task": {"type": "worker", "index": index}})
    with pytest.raises(ValueError, match="lists none under 'cluster'"):
        cluster.read_cluster(config)
    assert not cluster.read_cluster(json.dumps({"task": {"type": "worker", "index": 0}})).addresses


SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_STEP_NODELIST": "n[9-10],gpu01",
    "SLURM_STEP_TASKS_PER_NODE": "2,1(x2)",
}


def test_slurm_tasks_are_workers_in_the_order_of_their_ranks():
    made = json.loads(cluster.slurm_tf_config(SLURM))
    assert made == {
        "cluster": {"worker": ["n9:8888", "n9:8889", "n10:8888", "gpu01:8888"]},
        "task": {"type": "worker", "index": 2},
    }
    assert len(cluster.read_cluster(json.dumps(made)).addresses) == 4
    jobs = [json.loads(cluster.slurm_tf_config(SLURM | {"SLURM_JOB_ID": f"102000{n}"})) for n in (7, 8)]
    one, next_one = (job["cluster"]["worker"] for job in jobs)
    assert one == ["n9:9000", "n9:9001", "n10:9000", "gpu01:9000"] and {*one}.isdisjoint(next_one)
    for layout in ("block:cyclic", "block,Pack", "NoPack"):
        assert json.loads(cluster.slurm_tf_config(SLURM | {"SLURM_DISTRIBUTION": layout})) == made
    with pytest.raises(ValueError, match="ranks are laid out as 'cyclic,Pack'; use srun"):
        cluster.slurm_tf_config(SLURM | {"SLURM_DISTRIBUTION": "cyclic,Pack"})


# ------------------------------------------------------------------------------------------- shares


def features(number=11, length=6):
    rng = np.random.default_rng(0)
    mask = (np.arange(length) < rng.integers(1, length + 1, (number, 1))).astype(np.int32)
    return {"input_ids": np.arange(number)[:, None] * mask, "input_mask": mask, "segment_ids": 0 * mask}


def joined(shares):
    return [
        {name: np.concatenate([batch[name] for batch in parts]) for name in parts[0]}
        for parts in zip(*shares, strict=True)
    ]


def test_live_text_of_all_workers_together_is_that_of_one():
    def batches(share):
        all_batches = training_batches(RowsInMemory(features()), 4, 5, 8, share=share)
        return list(all_batches.take(6).as_numpy_iterator())

    whole, parts = batches(Share()), joined([batches(Share(2, 0)), batches(Share(2, 1))])
    for expected, batch in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(batch["input_ids"], expected["input_ids"])


def test_evaluation_of_live_text_gives_all_workers_as_many_batches():
    def batches(share):
        return list(
            evaluation_batches(
                RowsInMemory(features()), 4, True, with_fill=True, share=share
            ).as_numpy_iterator()
        )

    whole, parts = batches(Share()), joined([batches(Share(2, 0)), batches(Share(2, 1))])
    assert len(whole) == 3
    for expected, batch in zip(whole, parts, strict=True):
        for name in expected:
            np.testing.assert_array_equal(batch[name], expected[name])
    with pytest.raises(ValueError, match="batch of 4 examples is not divisible by 3 input pipelines"):
        batches(Share(3, 0))
