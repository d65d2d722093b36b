"""The peak that a training is compared with: known, given or measured."""

import pytest
import tensorflow as tf

from kbert.cli.warn_once import warn_once
from kbert.training.measuring import peak_flops
from kbert.training.measuring.peak_flops import find_peak_flops, known_gpu_tflops, measured_flops


@pytest.mark.parametrize(
    ("name", "half", "single"),
    [
        ("NVIDIA H100 80GB HBM3", 989.4, 67.0),
        ("NVIDIA H100 PCIe", 756.0, 51.0),
        ("NVIDIA A100-SXM4-40GB", 312.0, 19.5),
        ("Tesla V100-PCIE-16GB", 112.0, 14.0),
        ("Tesla T4", 65.0, 8.1),
        ("NVIDIA L4", 121.0, 30.3),
        ("NVIDIA L40", None, None),
    ],
)
def test_a_gpu_is_known_by_its_own_name_alone(name, half, single):
    assert known_gpu_tflops(name, "bfloat16") == known_gpu_tflops(name, "float16") == half
    assert known_gpu_tflops(name, "float32") == single


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize(("half_seconds", "seconds"), [(1.0, 1.2), (3.0, 1.0)])
def test_a_half_precision_on_a_processor_without_it_is_said(monkeypatch, caplog, half, half_seconds, seconds):
    """A budget of time would end with a fraction of the steps."""
    warn_once.cache_clear()
    taken = {half: half_seconds, "float32": seconds}
    monkeypatch.setattr(peak_flops, "_best_product", lambda _, dtype: 1.0 / taken[dtype.name])
    for precision in ("float32", half):
        find_peak_flops(tf.distribute.get_strategy(), precision)
    said = "take 3.0 times as long as in float32 on this processor" in caplog.text
    assert said == bool(caplog.text) == (half_seconds > seconds)


@pytest.mark.parametrize("capability", [(7, 5), (8, 0)])
def test_bfloat16_on_a_gpu_without_it_is_said(monkeypatch, caplog, capability):
    warn_once.cache_clear()
    details = {"device_name": "Tesla T4", "compute_capability": capability}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: ["GPU:0"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _: details)
    for precision in ("float16", "bfloat16"):
        find_peak_flops(tf.distribute.get_strategy(), precision)
    said = "Tesla T4 has no bfloat16 units" in caplog.text
    assert said == bool(caplog.text) == (capability < (8, 0))


def test_a_measured_peak_is_fast_products_and_comes_once(monkeypatch):
    monkeypatch.setattr(peak_flops, "_MEASURING_SECONDS", 0.02)
    peak_flops._best_product.cache_clear()
    measured = measured_flops("CPU:0", "float32")
    # Wide limits that any processor stays within, and a wrong unit does not.
    assert 1e9 < measured < 1e14
    assert measured_flops("CPU:0", "float32") == measured
    assert measured_flops("CPU:0", "bfloat16") >= measured  # the better of both types
    assert find_peak_flops(tf.distribute.get_strategy(), "float32").flops_per_second == measured
    peak_flops._best_product.cache_clear()
