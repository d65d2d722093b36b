"""The peak FLOP/s of a device, to compare the FLOP/s of a run with."""

import functools
import os
import re
import time
from dataclasses import dataclass

import tensorflow as tf

from kbert.cli.warn_once import warn_once

# Dense peaks in TFLOP/s, without sparsity: (part of the device's name, bfloat16 or float16 with float32
# sums, float32 without TF32, see kbert/full_float32.py). The first match counts.
# Sources: NVIDIA's data sheets of each card (H100, H200, L4, A10 and L40S: half of the figures "with
# sparsity"); V100: "Tesla V100 GPU accelerator", T4: "T4 tensor core GPU"; these two have no bfloat16 units.
_GPU_PEAKS = (
    ("H200 NVL", 835.5, 60.0),
    ("H200", 989.4, 67.0),
    ("H100 NVL", 835.5, 60.0),
    ("H100 PCIe", 756.0, 51.0),
    ("H100", 989.4, 67.0),
    ("A100", 312.0, 19.5),
    ("L40S", 362.0, 91.6),
    ("L4", 121.0, 30.3),
    ("A10", 125.0, 31.2),
    ("V100-PCIE", 112.0, 14.0),
    ("V100", 125.0, 15.7),
    ("T4", 65.0, 8.1),
)
# bfloat16 TFLOP/s of what TensorFlow sees as one device: for v2 and v3 a core (half a chip, which has 45 and
# 123), for the others a chip. Source: the pages of each version at cloud.google.com/tpu/docs. Not tested on
# any TPU.
_TPU_PEAKS = (
    ("v2", 22.5),
    ("v3", 61.5),
    ("v4", 275.0),
    ("v5litepod", 197.0),
    ("v5p", 459.0),
    ("v6e", 918.0),
)
_MEASURING_SECONDS = 0.25
_BFLOAT16_SINCE = (8, 0)  # compute capability; NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities"
_SLOWER = 1.5  # other programs hardly slow one of two measurements by so much
_OTHER_PRECISION = "a run keeps its precision: begin it in a new folder with --precision="


@dataclass(frozen=True)
class PeakFlops:
    """FLOP/s of all devices of a run together, and a text that says where the figure comes from."""

    flops_per_second: float
    source: str


def find_peak_flops(strategy, precision: str, configured: float | None = None) -> PeakFlops | None:
    """The peak FLOP/s of the devices of a strategy for matrix products.

    Args:
      strategy: a tf.distribute strategy.
      precision: the run's precision, see kbert.config.PRECISIONS.
      configured: FLOP/s of one device (`peak_flops` in a config); if set, nothing is looked up or measured.

    Returns:
      The peak of a GPU or TPU that is in the table. For a CPU, or a GPU that is not in the table, a peak
      measured now with matrix products (about a second, once in a process). None for an unknown TPU.
    """
    replicas = strategy.num_replicas_in_sync
    if configured is not None:
        return PeakFlops(configured * replicas, "by the config's peak_flops")
    if isinstance(strategy, tf.distribute.TPUStrategy):
        return _known_tpu(os.environ.get("TPU_ACCELERATOR_TYPE", ""), replicas)
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        name = details.get("device_name", "GPU")
        if precision == "bfloat16" and details.get("compute_capability", _BFLOAT16_SINCE) < _BFLOAT16_SINCE:
            warn_once(f"{name} has no bfloat16 units, so bfloat16 is slow; {_OTHER_PRECISION}float16.")
        tflops = known_gpu_tflops(name, precision)
        if tflops:
            return PeakFlops(tflops * 1e12 * replicas, f"by the data sheet of {name}")
        return PeakFlops(
            measured_flops("GPU:0", precision) * replicas, f"measured by matrix products on {name}"
        )
    if precision != "float32":
        times = _best_product("CPU:0", tf.float32) / _best_product("CPU:0", tf.as_dtype(precision))
        if times > _SLOWER:
            warn_once(
                f"products in {precision} take {times:.1f} times as long as in float32 on this processor; "
                f"{_OTHER_PRECISION}float32."
            )
    # Replicas on logical CPUs share the cores of their machine.
    measured = measured_flops("CPU:0", precision) * _num_machines(strategy)
    return PeakFlops(measured, "measured by matrix products on this CPU")


def _num_machines(strategy):
    resolver = strategy.cluster_resolver
    jobs = resolver.cluster_spec().as_dict() if resolver else {}
    return max(1, sum(len(jobs.get(name, ())) for name in ("chief", "worker")))


def known_gpu_tflops(name: str, precision: str) -> float | None:
    """TFLOP/s of a GPU with this name (as its driver reports it), or None when it is not in the table."""
    for model, half, single in _GPU_PEAKS:
        # Compares whole words: "A10" must not match "A100", nor "L4" match "L40".
        if re.search(rf"(?<!\S){model}(?![^\s-])", name):
            return single if precision == "float32" else half
    return None


def _known_tpu(accelerator_type, replicas):
    for kind, tflops in _TPU_PEAKS:
        if accelerator_type.startswith(f"{kind}-"):
            return PeakFlops(tflops * 1e12 * replicas, f"data sheet of TPU {kind}")
    return None


def measured_flops(device: str, precision: str) -> float:
    """FLOP/s of the fastest of several matrix products. Uses no random numbers.

    Measured once in a process, for a quarter of a second for each dtype. With a 16-bit precision, float32 is
    measured too and the better result counts: a processor without bfloat16 units is slower in bfloat16.
    """
    half = {"bfloat16": tf.bfloat16, "float16": tf.float16}.get(precision)
    return max(_best_product(device, dtype) for dtype in (tf.float32, half) if dtype)


@functools.cache
def _best_product(device, dtype):
    size = 2048 if device.startswith("CPU") else 8192

    @tf.function(autograph=False)
    def product(a, b):
        return tf.linalg.matmul(a, b)

    with tf.device(device):
        # Numbers of both signs without a regular pattern, which could make the product faster than usual.
        values = tf.sin(tf.range(size * size, dtype=tf.float32) * 0.37)
        matrix = tf.cast(tf.reshape(values, (size, size)), dtype)
        product(matrix, matrix)  # not timed: tracing, and the start of threads
        best, start = float("inf"), time.perf_counter()
        while time.perf_counter() - start < _MEASURING_SECONDS:
            before = time.perf_counter()
            float(product(matrix, matrix)[0, 0])  # waits for the device
            best = min(best, time.perf_counter() - before)
    return 2 * size**3 / best
