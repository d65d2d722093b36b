"""Rows of all replicas, for losses in which the rows of a batch depend on each other."""

import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS
from kbert.tasks.losses import example_weights
from kbert.tasks.task import ALL_REPLICAS

FIRST_ROW = "first_row"


def with_coupled_rows(task, outputs: dict, batch: dict) -> dict:
    """The outputs of a replica, with what `Task.coupled` names from the rows of all replicas.

    To be called in the replica context, outside of any tf.function of the replica, because replicas wait for
    each other here. The gradient of a gathered value is the sum over the gradients of all replicas, cut to
    the replica's own rows; so the sum of all replicas' gradients is that of the whole batch.

    Args:
      task: the `Task`.
      outputs, batch: those of the replica; all replicas have the same number of rows.

    Returns:
      The outputs and, if the task couples rows, under `ALL_REPLICAS` a dict: name -> tensor with the rows of
      all replicas in their order, and "first_row" (int32 scalar), the position of the replica's first row.
    """
    if not task.coupled:
        return outputs
    replica = tf.distribute.get_replica_context()
    rows = {name: _replica_rows(name, outputs, batch) for name in task.coupled}
    gathered = {name: _gather_rows(replica, value) for name, value in rows.items()}
    replica_id = tf.convert_to_tensor(replica.replica_id_in_sync_group, tf.int32)
    num_rows = tf.shape(next(iter(rows.values())))[0]
    return outputs | {ALL_REPLICAS: gathered | {FIRST_ROW: replica_id * num_rows}}


def _replica_rows(name, outputs, batch):
    if name in outputs:
        return outputs[name]
    return example_weights(batch) if name == EXAMPLE_WEIGHTS else batch[name]


def _gather_rows(replica, value):
    gathered = replica.all_gather(value, axis=0)  # which forgets the shape
    num_rows = value.shape[0] and value.shape[0] * replica.num_replicas_in_sync
    return tf.ensure_shape(gathered, [num_rows, *value.shape[1:]])
