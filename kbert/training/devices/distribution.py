"""Makes the tf.distribute strategy from flags, and divides data and file writing between its processes."""

import contextlib
import functools
import glob
import os
import re
import signal
import zlib

import tensorflow as tf
from absl import logging

from kbert.config import Devices
from kbert.input_pipelines.epochs import without_autotune
from kbert.training.devices import cluster as clusters
from kbert.training.devices.jit import device_type
from kbert.training.devices.rendezvous import wait_for_workers

_CARDS = "/dev/nvidia[0-9]*"  # TensorFlow's own lines of what it lacks go unseen, see quiet_tensorflow
_HIDING = "CUDA_VISIBLE_DEVICES"


def make_strategy(devices: Devices) -> tf.distribute.Strategy:
    """The strategy to train under. Call it before anything that runs TensorFlow operations.

    Each process of several workers calls this function.

    Raises:
      ValueError: within the scope of another strategy, for more devices than there are, or when the cluster
        or the TPU is not described or cannot be reached.
    """
    if tf.distribute.has_strategy():
        raise ValueError(
            "a training chooses its devices itself, and this one stands in the scope of a strategy: call it "
            "outside of `with strategy.scope():`, and say strategy=mirrored for all devices of this machine."
        )
    name, num_devices = str(devices.strategy), devices.num_devices
    if clusters.is_multi_worker(name):
        name = "multi_worker"
    if num_devices and name in ("multi_worker", "tpu"):
        raise ValueError(
            f"num_devices={num_devices} works only with strategy=mirrored; {name} uses every device that "
            "its processes see. To choose GPUs, set CUDA_VISIBLE_DEVICES."
        )
    if name == "tpu":
        return _tpu(devices.tpu)
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus and (cards := glob.glob(_CARDS)) and os.environ.get(_HIDING) not in ("", "-1"):
        logging.warning(
            "this machine has an NVIDIA card (%s), but TensorFlow sees none, so the training is on the CPU. "
            "docs/install.md, \"no GPU is listed\", finds the reason; %s=-1 says that the CPU is meant.",
            cards[0], _HIDING,
        )  # fmt: skip
    if name == "multi_worker":
        return _multi_worker(devices.cluster)
    if name == "auto":
        name = "mirrored" if len(gpus) > 1 and num_devices != 1 else "one_device"
    if name == "one_device" and num_devices and num_devices > 1:
        raise ValueError(
            f"num_devices={num_devices}, but training is on one device: this machine has {len(gpus)} GPUs. "
            "For that many logical devices of a CPU give strategy=mirrored."
        )
    return tf.distribute.get_strategy() if name == "one_device" else _mirrored(gpus, num_devices)


def _mirrored(gpus, num_devices):
    if gpus:
        if num_devices and num_devices > len(gpus):
            raise ValueError(f"num_devices={num_devices}, but this machine has only {len(gpus)} GPUs.")
        return _mirrored_strategy(*(f"GPU:{i}" for i in range(num_devices or len(gpus))))
    (cpu,) = tf.config.list_physical_devices("CPU")
    if num_devices and num_devices > 1 and tf.config.get_logical_device_configuration(cpu) is None:
        logical = [tf.config.LogicalDeviceConfiguration() for _ in range(num_devices)]
        with contextlib.suppress(RuntimeError):  # TensorFlow has been used: too late
            tf.config.set_logical_device_configuration(cpu, logical)
    cpus = tf.config.list_logical_devices("CPU")
    wanted = num_devices or len(cpus)
    if wanted > len(cpus):
        raise ValueError(
            f"num_devices={wanted}, but this process has only {len(cpus)} CPU devices: a CPU is divided "
            "before TensorFlow is first used. Start a new process, or give a smaller num_devices."
        )
    return _mirrored_strategy(*(device.name for device in cpus[:wanted]))


_GROUPS_APART = 1000


@functools.cache
def _mirrored_strategy(*devices):
    """One strategy of these devices for the whole process.

    TensorFlow keeps the shape of all that replicas ever exchanged, by two numbers: one of the group of
    devices and one that counts what is exchanged. Each new strategy begins to count again, so in a second
    training of another shape the numbers would mean something else.
    """
    first_group = _GROUPS_APART * _mirrored_strategy.cache_info().currsize
    # Private to TensorFlow; without it only devices in a second number would not train after others.
    apart = {"_collective_key_base": first_group}
    return type("MirroredStrategy", (tf.distribute.MirroredStrategy,), apart)(list(devices))


def _multi_worker(cluster):
    if cluster == "slurm":
        os.environ["TF_CONFIG"] = clusters.slurm_tf_config()
    clusters.require_workers()
    strategy = _workers_strategy(os.environ["TF_CONFIG"])
    if not is_chief(strategy):
        logging.set_verbosity(logging.WARNING)  # only the chief logs the progress
    return strategy


@functools.cache  # TensorFlow connects a process once
def _workers_strategy(tf_config):
    wait_for_workers(clusters.read_cluster(tf_config))
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except (RuntimeError, tf.errors.OpError) as error:
        way = "call make_strategy before every other use of TensorFlow in the process"
        if "incarnation" in str(error):  # this worker alone was started again
            way = "a worker there is still that of an earlier start: end all of them, and start all again"
        raise ValueError(f"the workers cannot be connected ({error}); {way}.") from error


def _tpu(tpu):
    """Not tested, because no TPU was available. Its needs of the step are, see docs/distribution.md."""
    if not tpu:
        raise ValueError('strategy=tpu needs tpu: the name of a TPU, or "local" on a TPU virtual machine.')
    if tpu == "local" and not os.path.exists("/dev/accel0") and not os.path.exists("/dev/vfio/0"):
        raise ValueError("tpu=local, but this machine has no TPU (neither /dev/accel0 nor /dev/vfio/0).")
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=tpu)
        if tpu != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (RuntimeError, tf.errors.OpError) as error:
        raise ValueError(
            f"tpu={tpu}: no TPU answers ({error}); check the name, and check that the TPU is running."
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def is_chief(strategy) -> bool:
    """Whether this process writes run directory, checkpoints and metrics: exactly one of the workers does."""
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_type is None or isinstance(strategy, tf.distribute.TPUStrategy):
        return True
    first = "chief" if "chief" in resolver.cluster_spec().jobs else "worker"
    return (resolver.task_type, resolver.task_id) == (first, 0)


def chief_first(strategy, action):
    """Calls `action()` on the chief and then, when it is done there, on the others; returns its result.

    Use it for files that one process writes and all then read. If it fails on the chief, it fails on all.

    Raises:
      ValueError, OSError: as `action` does; ValueError on the other workers when the chief failed.
    """
    if not is_chief(strategy):
        if wait_for_all(strategy):
            raise ValueError("the chief worker stopped with an error; see its log for the reason.")
        return action()
    try:
        result = action()
    except (ValueError, OSError):
        wait_for_all(strategy, failed=True)
        raise
    wait_for_all(strategy)
    return result


def require_alike(strategy, values: dict):
    """Compares what the workers were given each; they would wait for one another for ever.

    Args:
      strategy: a tf.distribute strategy. All its workers must call this with the same names.
      values: name -> value.

    Raises:
      ValueError: on all workers, with the names of the values that differ.
    """
    if strategy.cluster_resolver is None:
        return
    replicas = strategy.num_replicas_in_sync
    exact = 2**24 // replicas  # sums of whole numbers below it, in float32
    own = [zlib.crc32(repr(value).encode()) % exact for value in values.values()]
    differs = [total != replicas * number for total, number in zip(_sums(strategy, own), own, strict=True)]
    if named := [name for name, votes in zip(values, _sums(strategy, differs), strict=True) if votes]:
        here = ", ".join(f"{name}={values[name]}" for name in named)
        raise ValueError(
            f"the workers differ in {', '.join(named)} (here {here}); start all with the same command, "
            "data and folder."
        )


def wait_for_all(strategy, failed: bool = False) -> int:
    """Waits until every worker calls this; returns the number of replicas of workers that passed `failed`."""
    return int(failed) if strategy.cluster_resolver is None else int(sum_over_replicas(strategy, failed))


@contextlib.contextmanager
def naming_lost_workers(strategy, what_to_do):
    """Turns TensorFlow's long report of a lost worker into one sentence.

    Args:
      strategy: a tf.distribute strategy.
      what_to_do: function without arguments that returns a sentence: what the user can do now.

    Raises:
      ConnectionError: instead of TensorFlow's error, when the connection to a worker caused it.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) or not _is_lost(error):
            raise
        # A worker that only passed the news on is named after the one that is lost.
        named = re.search(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)", error.message)
        worker = f"{named[1]} {named[2]}" if named else "another worker"
        raise ConnectionError(
            f"the connection to {worker} is lost: it has ended, or the network between them is down. "
            f"{what_to_do()}"
        ) from None


def _is_lost(error):
    kinds = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
    return isinstance(error, kinds) or "Collective ops is aborted" in error.message


def sum_over_replicas(strategy, value: float) -> float:
    """The sum over all replicas of the `value` that their process passed; all processes must call it."""
    (total,) = _sums(strategy, [value])
    return total


def _sums(strategy, values: list) -> list[float]:
    return _sum_over_replicas(strategy, tf.constant(values, tf.float32)).numpy().tolist()


@tf.function(autograph=False)
def _sum_over_replicas(strategy, value):
    def replica(value):
        # The sum over workers needs a tensor on a device, and an argument has none: identity places it.
        return tf.distribute.get_replica_context().all_reduce("sum", tf.identity(value))

    return strategy.experimental_local_results(strategy.run(replica, args=(value,)))[0]


def agreed(strategy, received: int, is_late: bool) -> tuple[int, bool]:
    """(the number of the signal to stop for, or 0; whether a checkpoint is late): what one worker says holds
    for all of them, at the same step.

    Args:
      strategy: a tf.distribute strategy. All its workers must call this after the same step.
      received: the number of the signal that this process has received, or 0.
      is_late: whether this process has not saved for long.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return received, is_late
    signals, late = _sums(strategy, [received, is_late])
    return received or (int(signal.SIGTERM) if signals > 0 else 0), late > 0


def distribute(strategy, make_batches, for_replica=None):
    """Batches for the replicas of a strategy.

    Every input pipeline (one for each worker) makes its own share, in batches for all its replicas. Each
    replica receives a part of equal size, in order, so the replicas of a pipeline together see its batch.

    Args:
      strategy: a tf.distribute strategy.
      make_batches: function from a share (a `Share` of epochs.py, or an object with the same fields)
        to a tf.data.Dataset of dicts. With several replicas the number of examples in a batch must be fixed
        and divisible by the number of replicas of a pipeline.
      for_replica: function from the dataset of one replica's batches to the dataset that the replica
        receives, or None.

    Returns:
      `DistributedBatches`, or for one device the dataset itself.

    Raises:
      ValueError: when a batch cannot be divided evenly.
    """
    options = tf.data.Options()
    options.deterministic = True
    # `make_batches` already reads only its own share.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF

    def pipeline_batches(context):
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
        return without_autotune(batches).with_options(options)

    batches = strategy.distribute_datasets_from_function(pipeline_batches)
    return batches if isinstance(batches, tf.data.Dataset) else DistributedBatches(batches)


class DistributedBatches:
    """A distributed dataset whose iterators have no tuner for any device, see `without_autotune`.

    tf.distribute reads for each device of a process through a dataset that it makes itself, and it takes no
    options for that dataset. So the function that makes it is wrapped while an iterator is made. The function
    is private to TensorFlow: a version without it raises AttributeError here.

    Args:
      batches: what `tf.distribute.Strategy.distribute_datasets_from_function` returns. Its own options must
        already switch the tuner off.
    """

    def __init__(self, batches):
        self._batches = batches

    @property
    def element_spec(self):
        """As that of the distributed dataset."""
        return self._batches.element_spec

    def __iter__(self):
        from tensorflow.python.data.ops import multi_device_iterator_ops

        make = multi_device_iterator_ops._create_device_dataset
        multi_device_iterator_ops._create_device_dataset = lambda *args: without_autotune(make(*args))
        try:
            return iter(self._batches)
        finally:
            multi_device_iterator_ops._create_device_dataset = make


_FEWER_DEVICES = "or fewer devices (--strategy=one_device, or CUDA_VISIBLE_DEVICES=0)"


def require_whole_shares(config, strategy, is_evaluated: bool):
    """Raises ValueError when a batch size, or `packed_rows`, of a `TrainingConfig` is not divisible by the
    replicas; that of evaluations only where there are some."""
    replicas, steps = strategy.num_replicas_in_sync, config.gradient_accumulation_steps
    accumulation = f" x gradient_accumulation_steps={steps}" if steps > 1 else ""
    for name in ("train_batch_size", "packed_rows"):
        if (number := getattr(config, name) or 0) % (replicas * steps):
            fitting = max((n for n in range(1, steps + 1) if number % (replicas * n) == 0), default=0)
            fewer_steps = f"gradient_accumulation_steps={fitting}, " if fitting else ""
            raise ValueError(
                f"{name}={number} is not divisible by the {replicas} replicas{accumulation}; choose a "
                f"multiple of {replicas * steps}, {fewer_steps}{_FEWER_DEVICES}; a run that goes on keeps "
                "its batch."
            )
    if is_evaluated and config.eval_batch_size % replicas:
        raise ValueError(
            f"eval_batch_size={config.eval_batch_size} is not divisible by the {replicas} replicas; choose a "
            f"multiple of {replicas}, {_FEWER_DEVICES}."
        )


def log_shares(config, strategy):
    """Logs what a step of a `TrainingConfig` is made of, where that is not one batch on one device."""
    replicas, steps = strategy.num_replicas_in_sync, config.gradient_accumulation_steps
    if replicas * steps > 1:
        logging.info(
            "a step takes %d examples: %d x %d micro-batches of %d (replicas on %s, and "
            "gradient_accumulation_steps)",
            config.train_batch_size, replicas, steps, config.train_batch_size // (replicas * steps),
            device_type(strategy),
        )  # fmt: skip
