"""Decides whether the training step of a phase is compiled with XLA."""

import tensorflow as tf
from absl import logging


def resolve_jit(config, strategy) -> bool:
    """Whether to compile the training step. The decision and its reason are logged.

    `jit_compile="auto"` compiles on GPUs and TPUs, where XLA fuses the element-wise work between the matrix
    products. It does not compile on CPUs: XLA's bfloat16 products are slower than TensorFlow's there
    (which come from oneDNN), and float32 is no faster; see docs/speed.md for figures. It does not
    compile either when shapes vary from batch to batch, since every new shape needs a new compilation.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.

    Raises:
      ValueError: on a TPU, when shapes vary from batch to batch or with `jit_compile=false`.
    """
    device = device_type(strategy)
    if device == "TPU":
        if not config.fixed_shapes:
            raise ValueError(
                "a TPU needs batches of one shape: set pad_to_longest=false, and set "
                'packed_rows if padding="pack".'
            )
        if config.jit_compile is False:
            raise ValueError("a TPU runs compiled steps only: leave out jit_compile=false.")
        return True
    jit_compile = resolves_to_xla(config, device)
    if config.jit_compile == "auto":
        shapes = "one shape" if config.fixed_shapes else "many shapes"
        because = f'jit_compile="auto", {device}, batches of {shapes}'
    else:
        because = f"jit_compile of the config, {device}"
    compiled = "compiled by XLA" if jit_compile else "not compiled by XLA"
    logging.info("precision %s; the step is %s (%s)", config.precision, compiled, because)
    return jit_compile


def device_type(strategy) -> str:
    """The device type that the replicas of a strategy run on: "CPU", "GPU" or "TPU"."""
    if isinstance(strategy, tf.distribute.TPUStrategy):
        return "TPU"
    if not isinstance(strategy, tf.distribute.MirroredStrategy | tf.distribute.MultiWorkerMirroredStrategy):
        return "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    return "GPU" if any("GPU" in device for device in strategy.extended.worker_devices) else "CPU"


def needs_whole_batches(config, strategy) -> bool:
    """Whether the last evaluation batch must be filled up: replicas, `packed_rows` and XLA need full ones."""
    alone = strategy.num_replicas_in_sync == 1 and not config.packed_rows
    return not alone or resolves_to_xla(config, device_type(strategy))


def resolves_to_xla(config, device: str) -> bool:
    """The `jit_compile` of a config as a bool; "auto" is decided for the device, see `resolve_jit`."""
    return device != "CPU" and config.fixed_shapes if config.jit_compile == "auto" else config.jit_compile
