"""About how much memory a training step needs on one device; docs/runs.md has the formula."""

from absl import logging

# Traced graphs and compiled kernels: the rest of the peaks measured on a CPU (docs/runs.md).
_PROGRAM_BYTES = 280_000_000


def log_memory(task, config, plan, details: dict, num_replicas: int):
    """Logs about how much memory a device needs, for the largest batch of all phases.

    If texts are packed into as many rows as they need, this is an upper bound.

    Args:
      task, config, plan: those of the training.
      details: the content of run.json.
      num_replicas: how many devices share a batch.
    """
    records = [details.get("records")] * len(plan.phases)
    if "records_of_phases" in details:
        records = [phase["records"] for phase in details["records_of_phases"]]
    batches = []
    for phase, settings in zip(plan.phases, records, strict=True):
        settings, examples = settings or {}, phase.config.train_batch_size
        length = settings.get("max_seq_length", details["max_seq_length"])
        rows = config.packed_rows or examples * task.texts_per_example
        predictions = settings.get("max_predictions_per_seq", 0)
        devices = num_replicas * phase.config.gradient_accumulation_steps
        batches.append((-(-rows // devices), length, -(-predictions * examples // rows)))
    logging.info("%s", memory_sentence(config, *max(batches, key=lambda batch: batch[0] * batch[1])))


def memory_sentence(config, batch_size: int, seq_length: int, predictions: int = 0) -> str:
    """About how much memory a training step needs on one device.

    Args:
      config: a `TrainingConfig` with an encoder.
      batch_size: sequences that a device works on at a time.
      seq_length: tokens of a sequence, including padding.
      predictions: masked positions of a sequence, with a masked-LM head.
    """
    encoder, width = config.encoder, 4 if config.precision == "float32" else 2
    hidden, inner, layers = encoder.hidden_size, encoder.intermediate_size, encoder.num_hidden_layers
    rows = encoder.vocab_size + encoder.num_position_rows
    tables = rows * encoder.embedding_width + (encoder.embedding_size or 0) * hidden
    # Weights; for what is trained two moments, and two copies of each gradient during the update.
    all_weights = tables + layers * encoder.block_weights
    trained = all_weights if config.trains_whole_encoder else 0
    copies = 4 if config.gradient_accumulation_steps > 1 else 0
    held = (
        _PROGRAM_BYTES
        + 4 * all_weights
        + 4 * trained * (2 + copies)
        + (all_weights * width if width < 4 else 0)
    )
    # For each layer 8 vectors of the hidden size, 2 of the intermediate size, 2 matrices of attention.
    tokens = batch_size * seq_length
    attention = 2 * batch_size * encoder.num_attention_heads * seq_length**2
    kept = width * (tokens * (8 * hidden + 2 * inner) + attention)
    activations = layers * width * tokens * hidden + kept if config.recompute_activations else layers * kept
    logits = 12 * batch_size * predictions * encoder.vocab_size
    total = held + max(activations + max(kept, logits), 8 * trained)
    shape = f"{batch_size} x {seq_length} tokens"
    return (
        f"memory: about {total / 2**30:.1f} GiB for {shape} on a device; less with a larger "
        "gradient_accumulation_steps or a smaller train_batch_size."
    )
