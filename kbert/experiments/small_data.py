"""Whether a training on few examples is too short to be trusted."""

from kbert.config import FinetuningConfig

# With fewer examples, fewer steps and fewer epochs than these, some seeds fail. arXiv 2006.04884, section 6:
# RTE, MRPC and CoLA, of 2,500 to 8,600 examples, do not fail over 20 epochs; arXiv 2006.05987, section 6:
# more steps help where there are few.
FEW_EXAMPLES = 10_000
ENOUGH_STEPS = 1_000
ENOUGH_EPOCHS = 20


def too_few_steps(config: FinetuningConfig, num_examples: int, num_train_steps: int) -> str | None:
    """A sentence that says what to change, for few steps on few examples; else None."""
    enough = num_train_steps >= ENOUGH_STEPS or config.num_train_epochs >= ENOUGH_EPOCHS
    if num_examples >= FEW_EXAMPLES or enough or config.optimizer.train_minutes:
        return None
    epochs = min(ENOUGH_EPOCHS, -(-ENOUGH_STEPS * config.train_batch_size // num_examples))
    changes = [f"--override=num_train_epochs={epochs}"]
    if not config.optimizer.corrects_bias:
        changes.append("--override=optimizer.name=adamw")
    if not config.warmup_proportion:
        changes.append("--override=warmup_proportion=0.1")
    return (
        f"{num_examples:,} training examples and {num_train_steps:,} steps: on so few, some seeds learn "
        f"nothing. At least {ENOUGH_STEPS:,} steps or {ENOUGH_EPOCHS} epochs are safer: {' '.join(changes)}, "
        "or configs/finetuning/small_data.toml."
    )
