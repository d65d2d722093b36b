"""Sums the gradients over the replicas, in the dtype that the config asks for."""

import tensorflow as tf
from absl import logging

from kbert.training.devices.jit import device_type


def resolve_all_reduce_dtype(config, strategy) -> str:
    """The dtype in which the gradients are summed. Logs what the setting does, unless it is float32.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.

    Raises:
      ValueError: as `require_all_reduce` does.
    """
    require_all_reduce(config, strategy)
    dtype, replicas = config.all_reduce_dtype, strategy.num_replicas_in_sync
    if dtype == "float32":
        return dtype
    if replicas == 1:
        logging.info("all_reduce_dtype=%s has no effect: one replica has nothing to sum", dtype)
        return "float32"
    logging.info("gradients are summed over %d replicas in %s", replicas, dtype)
    return dtype


def require_all_reduce(config, strategy):
    """Raises ValueError for `all_reduce_dtype="bfloat16"` on several GPUs.

    Their sums are NCCL's, and as of TensorFlow 2.21 `NcclManager` takes float16, float32, float64, int32 and
    int64 only (tensorflow/core/nccl/nccl_manager.cc).
    """
    if config.all_reduce_dtype != "bfloat16" or strategy.num_replicas_in_sync == 1:
        return
    if device_type(strategy) == "GPU":
        raise ValueError(
            'all_reduce_dtype="bfloat16" works on CPUs and TPUs: TensorFlow sums over GPUs with NCCL, not '
            'in bfloat16. Choose "float32", or "float16" with precision="float16".'
        )


def all_reduce_gradients(gradients: list, sums, dtype: str):
    """Sums over all replicas; call it in the replica context.

    The gradients alone travel in `dtype`: they are most of the bytes, and an update does not depend on their
    last bits. Losses, weights and counts keep their own dtype.

    Args:
      gradients: float32 tensors.
      sums: any structure of tensors.
      dtype: "float32"; "bfloat16" and "float16" send half the bytes, and round each gradient once before
        the sum and each sum once more on its way from replica to replica.

    Returns:
      The sums of `gradients` in float32, and of `sums`.
    """
    all_reduce = tf.distribute.get_replica_context().all_reduce
    if dtype == "float32":
        return all_reduce("sum", (gradients, sums))
    # Two calls: TensorFlow joins the tensors of one call into one, which has one dtype.
    reduced = all_reduce("sum", [tf.cast(gradient, dtype) for gradient in gradients])
    return [tf.cast(gradient, tf.float32) for gradient in reduced], all_reduce("sum", sums)
