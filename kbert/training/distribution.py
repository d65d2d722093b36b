"""Devices and strategy, from two flags."""

import tensorflow as tf

STRATEGIES = ("auto", "one_device", "mirrored")


def make_strategy(name: str = "auto", num_devices: int | None = None) -> tf.distribute.Strategy:
    """The strategy to train under.

    Args:
      name: "one_device"; "mirrored", over all GPUs, or over `num_devices` logical CPU devices on a machine
        without GPUs; "auto": mirrored where there are several GPUs, else one device.
      num_devices: how many devices to use; by default all.

    Raises:
      ValueError: for an unknown name, or more devices than there are.
    """
    if name not in STRATEGIES:
        raise ValueError(f"--strategy={name!r} is not known; choose one of {', '.join(STRATEGIES)}.")
    gpus = tf.config.list_physical_devices("GPU")
    if name == "auto":
        name = "mirrored" if len(gpus) > 1 and num_devices != 1 else "one_device"
    if name == "one_device":
        return tf.distribute.get_strategy()
    if gpus:
        if num_devices and num_devices > len(gpus):
            raise ValueError(f"--num_devices={num_devices}, but this machine has {len(gpus)} GPUs.")
        return tf.distribute.MirroredStrategy([f"GPU:{i}" for i in range(num_devices or len(gpus))])
    (cpu,) = tf.config.list_physical_devices("CPU")
    if num_devices and num_devices > 1 and tf.config.get_logical_device_configuration(cpu) is None:
        logical = [tf.config.LogicalDeviceConfiguration() for _ in range(num_devices)]
        tf.config.set_logical_device_configuration(cpu, logical)
    cpus = tf.config.list_logical_devices("CPU")
    wanted = num_devices or len(cpus)
    if wanted > len(cpus):
        raise ValueError(f"--num_devices={wanted}, but this process has {len(cpus)} CPU devices.")
    return tf.distribute.MirroredStrategy([device.name for device in cpus[:wanted]])


def require_whole_shares(train_batch_size: int, strategy):
    """Raises ValueError when the global batch does not divide by the strategy's replicas."""
    replicas = strategy.num_replicas_in_sync
    if train_batch_size % replicas:
        raise ValueError(
            f"train_batch_size={train_batch_size} is not divisible by the {replicas} replicas; choose "
            f"a multiple of {replicas}."
        )
