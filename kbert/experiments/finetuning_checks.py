"""What a fine-tuning is refused or warned for, before any heavy work."""

from kbert.checks import require
from kbert.config import DRAWN_ROWS, FinetuningConfig
from kbert.experiments.finetuning_data import LabelledPaths
from kbert.heads.parts import POOLER
from kbert.tasks import TASKS

# With fewer examples, fewer steps and fewer epochs than these, some seeds fail. arXiv 2006.04884, section 6:
# RTE, MRPC and CoLA, of 2,500 to 8,600 examples, do not fail over 20 epochs; arXiv 2006.05987, section 6:
# more steps help where there are few.
FEW_EXAMPLES = 10_000
ENOUGH_STEPS = 1_000
ENOUGH_EPOCHS = 20
_MANY_WINDOWS = 1.2  # an example; SQuAD, whose epochs nobody counts by windows, has 1.03
_LEAST_RATE_OF_HEADS = 1e-4  # BERT's own rates for the whole encoder are 2e-5 to 5e-5


def require_trainable(config: FinetuningConfig, paths: LabelledPaths):
    """Raises ValueError where the config asks for other data than are given, or for an unknown task."""
    TASKS.require(config.task)
    is_evaluated = paths.has_dev or config.dev_split
    if paths.other_dev_files and not is_evaluated:
        raise ValueError(
            "other_dev_files need dev_file, dev_dir or dev_split, which choose the best checkpoint; give one."
        )
    if config.early_stopping_patience and not is_evaluated:
        raise ValueError(
            f"early_stopping_patience={config.early_stopping_patience} needs data to evaluate on: give "
            "dev_file, dev_dir or dev_split."
        )
    if config.dev_split and paths.has_dev:
        raise ValueError(
            f"dev_split={config.dev_split} holds out a part of train_file to evaluate on, but "
            f"{paths.dev_file or paths.dev_dir} is given for that as well; leave one of them out."
        )
    for name in DRAWN_ROWS:
        if (value := getattr(config, name)) and not paths.train_file:
            raise ValueError(
                f"{name}={value} draws examples of train_file, but {paths.train_dir} holds records; give the "
                f"file, or leave {name} out."
            )
    if records := config.freeze_encoder and (paths.train_dir or paths.dev_dir):
        raise ValueError(
            f"freeze_encoder stores the encoder's outputs for labelled files, but {records} holds "
            "records; give train_file and dev_file, or freeze layers with [frozen]."
        )


def require_settings_read(config: FinetuningConfig):
    """Raises ValueError for settings that nothing reads."""
    config.require_settings_read()
    task_class = TASKS[config.task]
    task_settings = task_class.read_settings(config.task_settings)
    task_class.require_settings_read(task_settings)
    if not config.distillation:
        return
    temperature = config.distillation.temperature
    require(
        temperature == 1.0 or task_class.checkpoint.problem_type != "regression",
        f"distillation.temperature={temperature} is that of probabilities, but the task {config.task} gives "
        "a number; leave it out.",
    )
    if config.distillation.label_weight:
        return
    settings, usual = vars(task_settings), vars(task_class.settings_class())
    if names := [name for name in task_class.loss_settings if settings.get(name) != usual.get(name)]:
        raise ValueError(
            f"task_settings.{names[0]}={settings[names[0]]!r} is of the task's own losses in training, but "
            "distillation.label_weight is 0; leave one of them out."
        )


def require_pooler(config: FinetuningConfig, task):
    """Raises ValueError where a pooler is to begin anew, and the task's model has none."""
    if config.reinit_pooler and not any(part.name == POOLER.name for part in task.parts):
        raise ValueError(f"reinit_pooler=true, but a model for {task.name} has no pooler; leave it out.")


def too_few_steps(config: FinetuningConfig, num_examples: int, num_train_steps: int) -> str | None:
    """A sentence that says what to change, for few steps on few examples; else None."""
    enough = num_train_steps >= ENOUGH_STEPS or config.num_train_epochs >= ENOUGH_EPOCHS
    if num_examples >= FEW_EXAMPLES or enough or config.optimizer.train_minutes:
        return None
    epochs = min(ENOUGH_EPOCHS, -(-ENOUGH_STEPS * config.train_batch_size // num_examples))
    changes = [f"num_train_epochs={epochs}"]
    if not config.optimizer.corrects_bias:
        changes.append("optimizer.name=adamw")
    if not config.warmup_proportion:
        changes.append("warmup_proportion=0.1")
    return (
        f"{num_examples:,} training examples and {num_train_steps:,} steps: on so few, some seeds learn "
        f"nothing. At least {ENOUGH_STEPS:,} steps or {ENOUGH_EPOCHS} epochs are safer: "
        f"{', '.join(changes)}."
    )


def unread_windows(config: FinetuningConfig, num_examples: int, num_rows: int) -> str | None:
    """A sentence where the epochs end before all windows were read: they count examples, as those of
    google-research/bert's run_squad.py do, and an example may have many windows. Else None."""
    times = config.num_train_epochs * num_examples / num_rows
    if num_rows < _MANY_WINDOWS * num_examples or times >= 1 or config.optimizer.train_minutes:
        return None
    return (
        f"{num_examples:,} training examples make {num_rows:,} windows, and epochs count examples: "
        f"num_train_epochs={config.num_train_epochs:g} reads a window {times:.2g} times, "
        f"num_train_epochs={-(-num_rows // num_examples)} each once."
    )


def what_to_try(config: FinetuningConfig, num_train_steps: int) -> str:
    """What may help a run that has learnt nothing: a learning rate of its own for a head or adapters alone;
    more steps where there were few, by what may have ended it before `num_train_steps`."""
    advice, rate = "another seed, or a smaller learning rate", config.optimizer.learning_rate
    last_layer = f"layer_{config.encoder.num_hidden_layers - 1}/" if config.encoder else ""
    if last_layer and not config.is_updated(last_layer) and rate < _LEAST_RATE_OF_HEADS:
        return (
            f"a larger learning rate: optimizer.learning_rate={rate:g} is for whole encoders; adapters or a "
            "head alone need ten times that or more"
        )
    if minutes := config.optimizer.train_minutes:
        advice = f"more time (optimizer.train_minutes={minutes:g})"
    elif num_train_steps < ENOUGH_STEPS and config.num_train_epochs < ENOUGH_EPOCHS:
        advice = f"more epochs (num_train_epochs={config.num_train_epochs:g} make {num_train_steps:,} steps)"
    if patience := config.early_stopping_patience:
        return f"more patience (early_stopping_patience={patience}) if it stopped early, else {advice}"
    return advice
