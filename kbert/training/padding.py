"""Decides, once for a run, whether the encoder keeps padding or packs several texts into a row."""

from absl import logging

from kbert.input_pipelines.packing import pack
from kbert.training.devices.jit import device_type, resolves_to_xla


def resolve_packing(task, configs, strategy) -> bool:
    """Whether the encoder of a run packs several texts into a row. The decision is logged.

    `padding="auto"` packs when shapes vary from batch to batch anyway. It keeps the padding when shapes are
    fixed: XLA needs fixed shapes, and records of full length have hardly any padding.

    Args:
      task: the `Task`, which may not support packing.
      configs: the `TrainingConfig` of each phase; `padding` and `packed_rows` are the same in all of them.
      strategy: a tf.distribute strategy.

    Raises:
      ValueError: when there are more rows than texts in a batch, or when `padding="pack"` is set for a task
        that does not support packing.
    """
    first = configs[0]
    compiled = any(resolves_to_xla(config, device_type(strategy)) for config in configs)
    packed = first.padding == "pack"
    if packed and not task.can_pack:
        raise ValueError(f'padding="pack": the rows of {task.name} cannot be packed; set padding="keep".')
    for config in configs:
        _check_rows(task, config)
    if first.padding == "auto":
        packed = task.can_pack and not compiled and not all(config.fixed_shapes for config in configs)
    rows = "short texts share a row" if packed else "each text has a row of its own, filled up to one length"
    logging.info("padding=%s: %s", first.padding, rows)
    return packed


def _check_rows(task, config):
    texts = config.train_batch_size * task.texts_per_example
    if (config.packed_rows or 0) > texts:
        raise ValueError(
            f"packed_rows={config.packed_rows} is more than the {texts} texts of a batch: {task.name} has "
            f"{task.texts_per_example} for each of train_batch_size={config.train_batch_size} examples; make "
            "it smaller."
        )


def packing(config, strategy, num_micro_batches: int = 1, whole_batches: bool = False):
    """The function that `distribute` applies to the batches of each replica when the encoder packs texts.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.
      num_micro_batches: how many the batch of a replica is cut into.
      whole_batches: if the number of rows is fixed, use as many rows as there are texts, so that every batch
        has enough room. Evaluations set this, because they must not leave out any text.
    """
    if not config.packed_rows:
        return lambda batches: pack(batches, None, num_micro_batches)
    replicas = strategy.num_replicas_in_sync
    if not whole_batches:
        return lambda batches: pack(batches, config.packed_rows // replicas, num_micro_batches)
    return lambda batches: pack(
        batches, _num_texts(batches) or config.eval_batch_size // replicas, num_micro_batches
    )


def _num_texts(batches) -> int | None:
    """The number of texts in a batch, several of which may belong to one example; None if it varies."""
    return batches.element_spec["input_mask"].shape[:-1].num_elements()
