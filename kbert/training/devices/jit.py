"""Whether the training step is compiled with XLA: decided here, once for a run."""

import tensorflow as tf
from absl import logging


def resolve_jit(config, strategy) -> bool:
    """True where the step is to be compiled. What was decided, and why, is logged.

    `jit_compile="auto"` compiles on GPUs and TPUs, where XLA fuses the element-wise work between the matrix
    products. It does not on CPUs: there XLA has no bfloat16 products of its own (half the speed of
    TensorFlow's, which come from oneDNN) and is no faster in float32; see docs/distribution.md for figures.
    Nor does it where shapes vary from batch to batch, since every new shape is a compilation.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.

    Raises:
      ValueError: on a TPU, for batches whose shapes vary or `jit_compile=false`.
    """
    device = device_type(strategy)
    if device == "TPU":
        if not config.fixed_shapes:
            raise ValueError(
                "a TPU needs batches of one shape: set pad_to_longest=false, leave out length_buckets, and "
                'give packed_rows where padding="pack".'
            )
        if config.jit_compile is False:
            raise ValueError("a TPU runs compiled steps only: leave jit_compile out, or --jit=auto.")
        return True
    jit_compile = resolves_to_xla(config, device)
    if config.jit_compile == "auto":
        because = f"auto: {device}, {'fixed' if config.fixed_shapes else 'varying'} shapes"
    else:
        because = "as configured"
    logging.info("XLA %s (%s), precision %s", "on" if jit_compile else "off", because, config.precision)
    return jit_compile


def device_type(strategy) -> str:
    """ "CPU", "GPU" or "TPU": what the replicas of a strategy run on."""
    if isinstance(strategy, tf.distribute.TPUStrategy):
        return "TPU"
    if not isinstance(strategy, tf.distribute.MirroredStrategy | tf.distribute.MultiWorkerMirroredStrategy):
        return "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    return "GPU" if any("GPU" in device for device in strategy.extended.worker_devices) else "CPU"


def needs_whole_batches(config, strategy) -> bool:
    """Whether evaluation batches must be filled up: replicas, `packed_rows` and XLA take no smaller ones."""
    alone = strategy.num_replicas_in_sync == 1 and not config.packed_rows
    return not alone or resolves_to_xla(config, device_type(strategy))


def resolves_to_xla(config, device: str) -> bool:
    """`jit_compile` of a config with "auto" decided for a device, see `resolve_jit`."""
    return device != "CPU" and config.fixed_shapes if config.jit_compile == "auto" else config.jit_compile
