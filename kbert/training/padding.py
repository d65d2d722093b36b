"""What becomes of padding inside the encoder while it trains: decided here, once for a run."""

from absl import logging

from kbert.input_pipelines.packing import pack
from kbert.training.devices.jit import device_type, resolves_to_xla


def resolve_packing(task, configs, strategy) -> bool:
    """Whether the encoder of a run packs several texts into a row; what was decided is logged.

    `padding="auto"` packs where shapes vary from batch to batch anyway, and keeps the padding where they are
    fixed: so XLA wants them, and records of full length have hardly any.

    Args:
      task: the `Task`, which may not be able to pack.
      configs: the `TrainingConfig` of each phase, which differ neither in padding nor in packed_rows.
      strategy: a tf.distribute strategy.

    Raises:
      ValueError: for rows that vary in number where a step is compiled with XLA, and for packing that is
        asked of a task which cannot.
    """
    first = configs[0]
    compiled = any(resolves_to_xla(config, device_type(strategy)) for config in configs)
    packed = first.padding == "pack"
    if packed and not task.can_pack:
        raise ValueError(f'padding="pack": the rows of {task.name} cannot be packed; set padding="keep".')
    if first.padding == "auto":
        packed = task.can_pack and not compiled and not all(config.fixed_shapes for config in configs)
    if packed and compiled and not first.packed_rows:
        raise ValueError(
            'padding="pack" takes as many rows as each batch needs, and XLA wants fixed shapes: give '
            "packed_rows, or --jit=off."
        )
    because = " (auto)" if first.padding == "auto" else ""
    logging.info("padding: %s%s", "texts packed into rows" if packed else "kept", because)
    return packed


def packing(config, strategy, num_parts: int = 1, whole_batches: bool = False):
    """What `distribute` is to do with each replica's batches for an encoder that packs.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.
      num_parts: parts that a replica's batch is cut into.
      whole_batches: where the number of rows is fixed, take as many rows as texts, so that every batch has
        room. Evaluations do, since they leave out no text.

    Raises:
      ValueError: when `packed_rows` does not divide by the replicas.
    """
    if not config.packed_rows:
        return lambda batches: pack(batches, num_parts=num_parts)
    replicas = strategy.num_replicas_in_sync
    if config.packed_rows % (replicas * num_parts):
        raise ValueError(
            f"packed_rows={config.packed_rows} is not divisible by the {replicas} replicas x "
            f"gradient_accumulation_steps={num_parts}; choose a multiple of {replicas * num_parts}."
        )
    num_rows = config.eval_batch_size if whole_batches else config.packed_rows
    return lambda batches: pack(batches, num_rows // replicas, num_parts)
