"""What becomes of padding inside the encoder while it trains: decided here, once for a run."""

from absl import logging

from kbert.input_pipelines.packing import pack
from kbert.training.jit import device_type, resolves_to_xla


def resolve_padding(config, strategy) -> str:
    """One of kbert.encoder.PADDINGS for a `TrainingConfig`; what was decided is logged.

    `padding="auto"` skips padding where shapes vary from batch to batch anyway, and keeps it where they are
    fixed: so XLA wants them, and records of full length have hardly any.

    Raises:
      ValueError: for padding="skip" where the step is compiled with XLA.
    """
    compiled = resolves_to_xla(config, device_type(strategy))
    padding = config.padding
    if padding == "auto":
        padding = "keep" if config.fixed_shapes or compiled else "skip"
    if padding == "skip" and compiled:
        raise ValueError(
            'padding="skip" makes shapes vary, and XLA wants them fixed: use padding="pack", or --jit=off.'
        )
    logging.info("padding: %s%s", padding, "" if config.padding != "auto" else " (auto)")
    return padding


def packing(config, strategy, num_parts: int = 1, whole_batches: bool = False):
    """What `distribute` is to do with each replica's batches, or None for an encoder that does not pack.

    Args:
      config: a `TrainingConfig`.
      strategy: a tf.distribute strategy.
      num_parts: parts that a replica's batch is cut into.
      whole_batches: take a row for each text, in which any batch fits: for evaluations.

    Raises:
      ValueError: when `packed_rows` does not divide by the replicas.
    """
    if config.padding != "pack":
        return None
    replicas = strategy.num_replicas_in_sync
    if config.packed_rows % (replicas * num_parts):
        raise ValueError(
            f"packed_rows={config.packed_rows} is not divisible by the {replicas} replicas x "
            f"gradient_accumulation_steps={num_parts}; choose a multiple of {replicas * num_parts}."
        )
    num_rows = config.eval_batch_size if whole_batches else config.packed_rows
    return lambda batches: pack(batches, num_rows // replicas, num_parts)
