"""The strategy to train under, from flags, and how data and files are shared out under it."""

import contextlib
import os
import re

import tensorflow as tf
from absl import logging

from kbert.training.devices import cluster as clusters

STRATEGIES = ("auto", "one_device", "mirrored", "multi_worker", "tpu")


def make_strategy(
    name: str = "auto", num_devices: int | None = None, cluster: str = "tf_config", tpu: str | None = None
) -> tf.distribute.Strategy:
    """The strategy to train under. Call it before anything that runs TensorFlow operations.

    Args:
      name: "one_device"; "mirrored", over all GPUs of this machine, or over `num_devices` logical CPU devices
        where there are none; "multi_worker", over all GPUs (or the CPU) of several processes, each of which
        calls this; "tpu"; "auto": multi_worker where TF_CONFIG names several workers, else mirrored where
        there are several GPUs, else one device.
      num_devices: how many devices of this machine "mirrored" uses; by default all.
      cluster: where workers find each other: "tf_config", that environment variable, or "slurm", which sets
        it from Slurm's.
      tpu: name or address of the TPU; "local" on a TPU virtual machine.

    Raises:
      ValueError: for an unknown name, devices that there are not, or a cluster that is not described.
    """
    if name not in STRATEGIES:
        raise ValueError(f"--strategy={name!r} is not known; choose one of {', '.join(STRATEGIES)}.")
    if cluster not in clusters.CLUSTERS:
        raise ValueError(f"--cluster={cluster!r} is not known; choose one of {', '.join(clusters.CLUSTERS)}.")
    if name == "auto" and len(clusters.workers_of(os.environ.get("TF_CONFIG") or "{}")) > 1:
        name = "multi_worker"
    if num_devices and num_devices > 1 and name in ("multi_worker", "tpu"):
        raise ValueError(
            f"--num_devices={num_devices} is for --strategy=mirrored; {name} takes every device that its "
            "processes see (CUDA_VISIBLE_DEVICES chooses GPUs)."
        )
    if name == "multi_worker":
        return _multi_worker(cluster)
    if name == "tpu":
        return _tpu(tpu)
    gpus = tf.config.list_physical_devices("GPU")
    if name == "auto":
        name = "mirrored" if len(gpus) > 1 and num_devices != 1 else "one_device"
    return tf.distribute.get_strategy() if name == "one_device" else _mirrored(gpus, num_devices)


def _mirrored(gpus, num_devices):
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


def _multi_worker(cluster):
    if cluster == "slurm":
        os.environ["TF_CONFIG"] = clusters.slurm_tf_config()
    clusters.require_workers()
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise ValueError(
            f"the workers cannot be connected ({error}); make_strategy must come before every other use of "
            "TensorFlow in the process."
        ) from error
    if not is_chief(strategy):
        logging.set_verbosity(logging.WARNING)  # the chief tells how it goes
    return strategy


def _tpu(tpu):
    """Not run by the tests, for want of a TPU: what it needs of the step is, see docs/distribution.md."""
    if not tpu:
        raise ValueError(
            '--strategy=tpu needs --tpu: the name of a TPU, or "local" on a TPU virtual machine.'
        )
    if tpu == "local" and not os.path.exists("/dev/accel0") and not os.path.exists("/dev/vfio/0"):
        raise ValueError("--tpu=local, but this machine has no TPU (neither /dev/accel0 nor /dev/vfio/0).")
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=tpu)
        if tpu != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (RuntimeError, tf.errors.OpError) as error:
        raise ValueError(
            f"--tpu={tpu}: no TPU answers ({error}); check its name, and that it runs."
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def is_chief(strategy) -> bool:
    """Whether this process writes: run directory, checkpoints, metrics. One of several workers does."""
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_type is None or isinstance(strategy, tf.distribute.TPUStrategy):
        return True
    first = "chief" if "chief" in resolver.cluster_spec().jobs else "worker"
    return (resolver.task_type, resolver.task_id) == (first, 0)


def chief_first(strategy, action):
    """Calls `action()` on the chief and, when it is done there, on the other workers; returns its result.

    For what one process makes and all then read. Where the chief fails, all do.

    Raises:
      ValueError, OSError: as `action` does; ValueError on workers whose chief failed.
    """
    if not is_chief(strategy):
        if wait_for_all(strategy):
            raise ValueError("the chief worker stopped with an error; its log says which.")
        return action()
    try:
        result = action()
    except (ValueError, OSError):
        wait_for_all(strategy, failed=True)
        raise
    wait_for_all(strategy)
    return result


def wait_for_all(strategy, failed: bool = False) -> int:
    """Returns when every worker has come here: how many replicas belong to one that says `failed`."""
    return int(failed) if strategy.cluster_resolver is None else int(sum_over_replicas(strategy, failed))


@contextlib.contextmanager
def naming_lost_workers(strategy, what_to_do):
    """Turns TensorFlow's report that another worker is gone into one sentence.

    Args:
      strategy: a tf.distribute strategy.
      what_to_do: function without arguments that gives the sentence on how to go on.

    Raises:
      ConnectionError: in the place of TensorFlow's error, when it came from the connection to a worker.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) or not _is_lost(error):
            raise
        named = sorted(set(re.findall(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)", error.message)))
        workers = ", ".join(f"{job} {number}" for job, number in named) or "another worker"
        raise ConnectionError(f"the connection to {workers} is lost: it has ended. {what_to_do()}") from None


def _is_lost(error):
    kinds = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
    return isinstance(error, kinds) or "Collective ops is aborted" in error.message


def sum_over_replicas(strategy, value: float) -> float:
    """The sum over replicas of the `value` that each one's process gave; all processes must call it."""
    return float(_sum_over_replicas(strategy, tf.constant(value, tf.float32)))


@tf.function
def _sum_over_replicas(strategy, value):
    def replica(value):
        # An argument has no device of its own, which the sum over workers needs.
        return tf.distribute.get_replica_context().all_reduce("sum", tf.identity(value))

    return strategy.experimental_local_results(strategy.run(replica, args=(value,)))[0]


def distribute(strategy, make_batches, for_replica=None):
    """Batches for the replicas of a strategy.

    Every input pipeline (one a worker) makes its own share, in batches for all its replicas; each replica
    receives a part of equal size, in order, so that one pipeline's replicas together see its batch.

    Args:
      strategy: a tf.distribute strategy.
      make_batches: function from a share (a `Share` of record_shares.py or what has its fields) to a
        tf.data.Dataset of dicts; under several replicas the number of examples in a batch must be fixed
        and divide by the replicas of a pipeline.
      for_replica: function from a dataset of one replica's batches to what the replica is to get, or None.

    Returns:
      A distributed dataset.

    Raises:
      ValueError: when a batch cannot be shared out evenly.
    """
    options = tf.data.Options()
    options.deterministic = True
    # Shares are made from the records themselves.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF

    def of_pipeline(context):
        batches = make_batches(context)
        replicas = context.num_replicas_in_sync // context.num_input_pipelines
        if replicas > 1:
            size = next(iter(batches.element_spec.values())).shape[0]
            if not size or size % replicas:
                raise ValueError(
                    f"batches of {size or 'varying numbers of'} examples cannot be shared out to {replicas} "
                    f"replicas; choose a fixed multiple of {replicas}."
                )
            batches = batches.rebatch(size // replicas, drop_remainder=True)
        if for_replica:
            batches = for_replica(batches).prefetch(tf.data.AUTOTUNE)
        return batches.with_options(options)

    return strategy.distribute_datasets_from_function(of_pipeline)


def require_whole_shares(config, strategy):
    """Raises ValueError when the batches of a `TrainingConfig` do not divide by the strategy's replicas."""
    replicas, parts = strategy.num_replicas_in_sync, config.gradient_accumulation_steps
    if config.train_batch_size % (replicas * parts):
        accumulation = f" x gradient_accumulation_steps={parts}" if parts > 1 else ""
        raise ValueError(
            f"train_batch_size={config.train_batch_size} is not divisible by the {replicas} replicas"
            f"{accumulation}; choose a multiple of {replicas * parts}."
        )
    if config.eval_batch_size % replicas:
        raise ValueError(
            f"eval_batch_size={config.eval_batch_size} is not divisible by the {replicas} replicas; choose a "
            f"multiple of {replicas}."
        )
