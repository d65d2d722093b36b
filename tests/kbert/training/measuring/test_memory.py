"""Memory: parameters exactly, the estimate by its properties, the device's by what the system says."""

import math
import subprocess
from dataclasses import replace

import pytest
from absl import logging

from kbert.config import EncoderConfig
from kbert.encoder import BertEncoder
from kbert.tasks.pretraining import MaskedLM, NextSentence, Pretraining
from kbert.tasks.question_answering import QuestionAnswering
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.token_classification import TokenClassification
from kbert.training.devices.device_memory import DeviceMemory, memory_of_cpu, memory_of_gpu
from kbert.training.measuring.memory_estimate import (
    TrainingShape,
    estimate_memory,
    largest_batch,
    num_parameters,
    readable_bytes,
)
from kbert.training.measuring.training_flops import Heads
from kbert.training.measuring.watching import memory_sentence
from tests.conftest import tiny_encoder_config

CARDS = "0, GPU-aa11, 4096, Small\n1, GPU-bb22, 81920, NVIDIA A100, 80GB\n2, GPU-bc33, 40960, Middle\n"

PRETRAINING = Heads(masked_lm=True, pooled_labels=2)
BASE = EncoderConfig()


@pytest.mark.parametrize(
    "task",
    [
        Pretraining(),
        MaskedLM(),
        SequenceClassification(["a", "b", "c"]),
        TokenClassification(["O", "B", "I"]),
        QuestionAnswering(),
        NextSentence(),
    ],
    ids=lambda task: task.name,
)
def test_parameters_are_counted_exactly(task):
    config = tiny_encoder_config(num_hidden_layers=3)
    model = task.build_model(BertEncoder(config))
    trained = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    assert num_parameters(config, Heads.of_parts(task.parts)) == trained


def test_published_sizes():
    assert num_parameters(BASE, PRETRAINING) == 110_106_428  # BERT-base with its two heads
    large = EncoderConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    )
    assert num_parameters(large, PRETRAINING) == 336_226_108


def test_a_larger_batch_needs_more_and_recomputation_less():
    shape = TrainingShape(32, 512, 76, PRETRAINING)
    totals = [estimate_memory(BASE, replace(shape, batch_size=size)).total for size in (1, 8, 64)]
    assert totals == sorted(totals)
    kept, recomputed = estimate_memory(BASE, shape), estimate_memory(BASE, replace(shape, recompute=True))
    assert recomputed.activations < kept.activations / 5
    assert recomputed.total < kept.total
    assert (
        estimate_memory(BASE, replace(shape, precision="bfloat16")).activations * 2 == kept.activations
    )


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("gibibytes", [4, 16, 80])
def test_the_largest_batch_fits_and_one_more_does_not(gibibytes, recompute):
    shape = TrainingShape(1, 512, 76, PRETRAINING, recompute=recompute)
    available = gibibytes * 2**30
    most = largest_batch(BASE, shape, available)
    assert most > 0
    assert estimate_memory(BASE, replace(shape, batch_size=most)).total <= available
    assert estimate_memory(BASE, replace(shape, batch_size=most + 1)).total > available


def test_what_weights_alone_overfill_has_no_batch():
    assert largest_batch(BASE, TrainingShape(1, 128), 2**30) == 0


def test_the_sentence_says_whether_it_fits_and_what_would():
    shape = TrainingShape(64, 512, 76, PRETRAINING)
    say, sentence = memory_sentence(BASE, shape, DeviceMemory(400 * 2**30, "this CPU"))
    assert say is logging.info and "this CPU has 400.0 GiB: it fits (at most" in sentence
    say, sentence = memory_sentence(BASE, shape, DeviceMemory(16 * 2**30, "A GPU"))
    most = largest_batch(BASE, shape, 16 * 2**30)
    recomputed = largest_batch(BASE, replace(shape, recompute=True), 16 * 2**30)
    assert say is logging.warning and "IT WILL PROBABLY NOT FIT" in sentence
    assert f"at most {most} examples at a time fit, with recompute_activations {recomputed}." in sentence
    assert 0 < most < recomputed
    _, sentence = memory_sentence(BASE, shape, DeviceMemory(2**30, "A GPU"))
    assert "not even one example fits" in sentence
    _, sentence = memory_sentence(BASE, shape, DeviceMemory(64 * 2**30, "this CPU"), num_sharing=4)
    assert "this CPU has 16.0 GiB for each" in sentence
    assert "has" not in memory_sentence(BASE, shape, None)[1]


def write_system(root, available_kib, cgroup, files):
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available_kib} kB\n")
    (root / "proc" / "self" / "cgroup").write_text(cgroup)
    for path, content in files.items():
        (root / "sys/fs/cgroup" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "sys/fs/cgroup" / path).write_text(content)
    return root


def test_without_a_limit_the_cpu_has_what_is_free(tmp_path):
    root = write_system(
        tmp_path, 2048, "0::/job\n",
        {"job/memory.max": "max\n", "job/memory.current": "5\n", "job/memory.stat": "inactive_file 1\n"},
    )  # fmt: skip
    assert memory_of_cpu(root) == DeviceMemory(2048 * 1024, "this CPU")


def test_the_tightest_control_group_counts_without_its_cache(tmp_path):
    files = {
        "a/memory.max": "900000\n",
        "a/memory.current": "500000\n",
        "a/memory.stat": "anon 7\ninactive_file 100000\n",
        "a/b/memory.max": "800000\n",
        "a/b/memory.current": "100000\n",
        "a/b/memory.stat": "inactive_file 0\n",
    }
    root = write_system(tmp_path, 2048, "0::/a/b\n", files)
    assert memory_of_cpu(root) == DeviceMemory(500_000, "this CPU's control group")


def test_control_groups_of_the_first_version_count_too(tmp_path):
    files = {
        "memory/job/memory.limit_in_bytes": "700000\n",
        "memory/job/memory.usage_in_bytes": "300000\n",
        "memory/job/memory.stat": "total_inactive_file 50000\n",
    }
    root = write_system(tmp_path, 2048, "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n", files)
    assert memory_of_cpu(root).available == 450_000


def test_this_machine_has_some_memory():
    assert 2**28 < memory_of_cpu().available < 2**46


@pytest.mark.parametrize(
    ("number", "shown"), [(734003200, "700 MiB"), (1048575999, "1000 MiB"), (7730941133, "7.2 GiB")]
)
def test_bytes_are_short(number, shown):
    assert readable_bytes(number) == shown


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, (4096, "Small")),
        ("1", (81920, "NVIDIA A100, 80GB")),
        ("1, 2", (40960, "Middle")),
        ("GPU-b", (40960, "Middle")),
        ("GPU-bb22", (81920, "NVIDIA A100, 80GB")),
        ("", None),
        ("-1", None),
    ],
)
def test_a_gpu_that_is_not_visible_does_not_count(monkeypatch, visible, expected):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, CARDS, "")
    )
    assert memory_of_gpu() == (expected and DeviceMemory(expected[0] * 2**20, expected[1]))
