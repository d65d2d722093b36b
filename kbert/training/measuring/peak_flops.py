"""The most arithmetic a device can do, which a training's own is compared with."""

import functools
import os
import time
from dataclasses import dataclass

import tensorflow as tf

# Dense peaks in TFLOP/s, without sparsity: (part of the device's name, bfloat16 or float16 with float32
# sums, float32). Where tensor cores take float32 products as TF32, which TensorFlow lets them by default,
# the float32 figure is that of TF32. The first match counts.
# Sources: NVIDIA's data sheets of each card (H100 and H200: half of the figures "with sparsity"; L4, A10,
# L40S alike); V100: "Tesla V100 GPU accelerator", T4: "T4 tensor core GPU", no bfloat16 units in both.
_GPU_PEAKS = (
    ("H200 NVL", 835.5, 417.5),
    ("H200", 989.4, 494.7),
    ("H100 NVL", 835.5, 417.5),
    ("H100 PCIe", 756.0, 378.0),
    ("H100", 989.4, 494.7),
    ("A100", 312.0, 156.0),
    ("L40S", 362.0, 183.0),
    ("L4", 121.0, 60.0),
    ("A10", 125.0, 62.5),
    ("V100-PCIE", 112.0, 14.0),
    ("V100", 125.0, 15.7),
    ("T4", 65.0, 8.1),
)
# bfloat16 TFLOP/s of what TensorFlow sees as one device: a core of v2 and v3 (two a chip: 45 and 123), a
# chip of the others. Source: the pages of each version at cloud.google.com/tpu/docs. None was at hand.
_TPU_PEAKS = (
    ("v2", 22.5),
    ("v3", 61.5),
    ("v4", 275.0),
    ("v5litepod", 197.0),
    ("v5p", 459.0),
    ("v6e", 918.0),
)
_MEASURING_SECONDS = 0.5


@dataclass(frozen=True)
class PeakFlops:
    """FLOP/s of all devices of a run together, and in words where the figure comes from."""

    flops_per_second: float
    source: str


def peak_of(strategy, precision: str, given: float | None = None) -> PeakFlops | None:
    """The peak that the devices of a strategy have for matrix products.

    Args:
      strategy: a tf.distribute strategy.
      precision: the run's precision, see kbert.config.PRECISIONS.
      given: FLOP/s of one device, which is then taken as it is (`peak_flops` in a config).

    Returns:
      The known peak of a GPU or TPU, or one measured here and now by matrix products (about a second, once
      a process): that of CPUs, and of GPUs that are not in the table. None for an unknown TPU.
    """
    replicas = strategy.num_replicas_in_sync
    if given is not None:
        return PeakFlops(given * replicas, "peak_flops of the config")
    if isinstance(strategy, tf.distribute.TPUStrategy):
        return _known_tpu(os.environ.get("TPU_ACCELERATOR_TYPE", ""), replicas)
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        name = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
        tflops = known_gpu_tflops(name, precision)
        if tflops:
            return PeakFlops(tflops * 1e12 * replicas, f"data sheet of {name}")
        return PeakFlops(measured_flops("GPU:0", precision) * replicas, f"measured on {name}")
    # Replicas on logical CPUs share the cores of their machine.
    return PeakFlops(measured_flops("CPU:0", precision) * _num_machines(strategy), "measured matmul peak")


def _num_machines(strategy):
    resolver = strategy.cluster_resolver
    jobs = resolver.cluster_spec().as_dict() if resolver else {}
    return max(1, sum(len(jobs.get(name, ())) for name in ("chief", "worker")))


def known_gpu_tflops(name: str, precision: str) -> float | None:
    """TFLOP/s of a GPU by the name that its driver gives it, or None."""
    for part, half, single in _GPU_PEAKS:
        # "A10" is no "A100", "L4" no "L40".
        if any(word == part or word.startswith(part + "-") for word in _phrases(name, part)):
            return single if precision == "float32" else half
    return None


def _phrases(name, part):
    """The words of a name, joined to as many as `part` has."""
    words = name.split()
    number = len(part.split())
    return [" ".join(words[index : index + number]) for index in range(len(words) - number + 1)]


def _known_tpu(accelerator_type, replicas):
    for kind, tflops in _TPU_PEAKS:
        if accelerator_type.startswith(f"{kind}-"):
            return PeakFlops(tflops * 1e12 * replicas, f"data sheet of TPU {kind}")
    return None


def measured_flops(device: str, precision: str) -> float:
    """FLOP/s of the best of several matrix products, without touching any random state.

    Measured once a process, for half a second a data type. With a precision of 16 bits float32 is tried as
    well and the better one counts: a processor without bfloat16 units is slower with it.
    """
    half = {"mixed_bfloat16": tf.bfloat16, "mixed_float16": tf.float16}.get(precision)
    return max(_best_product(device, dtype) for dtype in (tf.float32, half) if dtype)


@functools.cache
def _best_product(device, dtype):
    size = 2048 if device.startswith("CPU") else 8192

    @tf.function
    def product(a, b):
        return tf.linalg.matmul(a, b)

    with tf.device(device):
        # Numbers of both signs and no pattern that a processor could make short work of.
        values = tf.sin(tf.range(size * size, dtype=tf.float32) * 0.37)
        matrix = tf.cast(tf.reshape(values, (size, size)), dtype)
        product(matrix, matrix)  # tracing, and threads waking up
        best, start = float("inf"), time.perf_counter()
        while time.perf_counter() - start < _MEASURING_SECONDS:
            before = time.perf_counter()
            float(product(matrix, matrix)[0, 0])  # waits for the device
            best = min(best, time.perf_counter() - before)
    return 2 * size**3 / best
