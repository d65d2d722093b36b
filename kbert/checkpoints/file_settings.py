"""How a checkpoint of others reads labelled files, as a config says."""

import dataclasses

from kbert.checkpoints import HUGGING_FACE
from kbert.checkpoints.bert_checkpoint import BertCheckpoint, RecordedTask
from kbert.checkpoints.model_variables import part_name
from kbert.cli.warn_once import warn_once
from kbert.config import FinetuningConfig
from kbert.tasks import TASKS
from kbert.tasks.file_columns import require_read


def with_file_settings(checkpoint: BertCheckpoint, config: FinetuningConfig) -> BertCheckpoint:
    """The checkpoint with the columns, the `task_settings`, the length and the `eval_batch_size` of a
    fine-tuning config.

    Args:
      checkpoint: of any format but kbert's own, which records all this.
      config: a config of its task, or of one that needs no more weights. The labels are the checkpoint's: its
        logits stand in their order; one that only numbers its classes takes the config's.

    Raises:
      ValueError: for a config of another task, of another head, with other labels or wrong settings, for one
        of its dataset that nothing reads, and for a length beyond the positions.
    """
    own = TASKS[checkpoint.task].from_labels(checkpoint.labels).with_pooling(checkpoint.pooling)
    if config.task != own.name and not _needs_no_more_weights(TASKS[TASKS.require(config.task)], own):
        raise ValueError(
            f"the config is for the task {config.task}, but {checkpoint.source} is "
            f"a model of {checkpoint.task}; give a config of its task"
            f"{_other_meaning(config.task, own) if checkpoint.report.format == HUGGING_FACE else ''}."
        )
    require_read(config.task, config.dataset)
    positions = checkpoint.encoder.max_position_embeddings
    if config.max_seq_length > positions:
        raise ValueError(
            f"the config has max_seq_length={config.max_seq_length}, but {checkpoint.source} has {positions} "
            f"positions; give a config with max_seq_length={positions} or less."
        )
    task_class, dataset = TASKS[config.task], config.dataset
    if task_class.checkpoint.has_labels:
        checkpoint = dataclasses.replace(checkpoint, labels=_labels(checkpoint, dataset.labels))
        dataset = dataclasses.replace(dataset, labels=checkpoint.labels)
    settings = task_class.settings_at(task_class.read_settings(config.task_settings), config.max_seq_length)
    task = task_class.from_dataset(dataset, settings)
    # What makes a score of the output is the checkpoint's, not what the loss of a training would make of it.
    activation = checkpoint.activation or (getattr(task, "activation", None) and "identity")
    recorded = RecordedTask(
        task_config=task.with_pooling(checkpoint.pooling).with_activation(activation).get_config(),
        dataset=dataset,
        task_settings=config.task_settings,
        best_metric=config.best_metric,
        eval_batch_size=config.eval_batch_size,
    )
    described = dataclasses.replace(
        checkpoint, task=config.task, recorded=recorded, max_seq_length=config.max_seq_length
    )
    if lacking := {part_name(name) for name, _ in described.shapes.items() - checkpoint.shapes.items()}:
        raise ValueError(
            f"the config's model has {', '.join(sorted(lacking))}, where {checkpoint.source} has "
            f"{', '.join(checkpoint.parts) or 'no head'}: its weights would be random numbers; give a config "
            "whose task_settings are of the checkpoint's model, or train this one by kbert finetune."
        )
    return described


def _labels(checkpoint, named: tuple[str, ...]) -> tuple[str, ...]:
    """The labels of the checkpoint; of one that only numbers its classes, as transformers does by default and
    Google's files do, those that a config names, in their order."""
    own = checkpoint.labels
    if not named or named == own or (set(named) == set(own) and not checkpoint.is_numbered):
        return own
    if checkpoint.has_numbers_for_labels and len(named) == len(own):
        warn_once(
            f"{checkpoint.source} only numbers its classes; the config's labels are taken for them in their "
            f"order: {', '.join(f'{number} is {label!r:.100}' for number, label in enumerate(named))}"
        )
        return named
    raise ValueError(
        f"the config names the labels {list(named)!r:.300}, but {checkpoint.source} has {list(own)!r:.300}; "
        "leave labels out of the config, and write the checkpoint's into the file."
    )


def _other_meaning(task, own) -> str:
    """What to do where a checkpoint of the same class means another task, which its files do not say."""
    wanted = TASKS[task].checkpoint
    if not wanted.problem_type or wanted.architecture != own.checkpoint.architecture:
        return ""
    return f', or write "problem_type": "{wanted.problem_type}" into its config.json if it is one of {task}'


def _needs_no_more_weights(task_class, own) -> bool:
    """Whether a kind of task answers a text as the task of a checkpoint does, with its encoder alone.

    Tasks on pairs of vectors do: they have no head, so any encoder of vectors can be measured on their files.
    """
    if own.serving is None or own.serving.one_text_output is None or task_class.parts != ():
        return False
    return task_class.from_labels(()).serving.one_text_output == own.serving.one_text_output
