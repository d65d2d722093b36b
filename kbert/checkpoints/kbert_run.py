"""kbert's own run directories: any run in, and a converted checkpoint out as a run of 0 steps."""

from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.model_loading import task_of
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig, PretrainingConfig
from kbert.files.safetensors_file import read_safetensors
from kbert.tasks import TASKS

FORMAT = "kbert"
RUN_FILE = "run.json"


def read_kbert_run(
    path, do_lower_case: bool | None = None, allowance: Allowance | None = None
) -> BertCheckpoint:
    """Reads the checkpoint that a run directory hands on, see `RunDirectory.checkpoint`.

    Args:
      path: the run directory.
      do_lower_case: may be given again, but not contradict the run.
      allowance: see `Allowance`.

    Raises:
      ValueError: when there is no run, no checkpoint yet, another vocabulary than the run's, or a model
        file that is broken or not the config's.
    """
    from kbert.runs import checkpoint as training_checkpoint
    from kbert.runs.run_directory import RunDirectory

    allowance = allowance or Allowance()
    run = RunDirectory(path)
    report = Report(FORMAT, str(path))
    vocabulary = run.vocabulary()
    if do_lower_case is not None and do_lower_case != vocabulary.do_lower_case:
        raise ValueError(
            f"--do_lower_case={do_lower_case}, but the run {path} was made with "
            f"{vocabulary.do_lower_case}; leave the flag out."
        )
    task = run.task()
    weights = run.checkpoint() / training_checkpoint.WEIGHTS_FILE
    result = BertCheckpoint(
        source=str(path),
        encoder=run.config.encoder,
        task=task.name,
        labels=getattr(task, "labels", ()),
        vocabulary=vocabulary,
        tensors={},
        max_seq_length=run.details.get("max_seq_length", run.config.encoder.max_position_embeddings),
        report=report,
        takes_pairs=getattr(task, "takes_pairs", None),
    )
    # Numbers that a conversion made up and nothing has trained since are not handed on.
    untrained = set(run.details.get("converted", {}).get("initialised", ()))
    stored = read_safetensors(weights)
    for name, shape in result.shapes.items():
        if name not in stored:
            raise ValueError(f"{weights} lacks {name!r}: it belongs to another model than the run's config.")
        if stored[name].shape != shape:
            raise ValueError(
                f"{weights}: {name} has shape {stored[name].shape}, but the run's config makes it {shape}."
            )
        if not stored[name].is_float:
            raise ValueError(f"{weights}: {name} is {stored[name].dtype}, expected float32.")
        if name in untrained:
            report.not_in_file.append((name, "initialised at the conversion, never trained"))
        else:
            result.tensors[name] = stored[name].as_finite_float32(f"{weights}: {name}")
            report.taken.append((name, name, "as it is"))
    strange = [name for name in stored if name not in result.shapes]
    if strange:
        raise ValueError(f"{weights} holds {strange[0]!r}, which this {task.name} model has no place for.")
    return result


def write_kbert_run(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes a run of 0 steps, which evaluation, prediction, export and --init_checkpoint take.

    Args:
      checkpoint: the model. Variables that it lacks get fresh numbers, and run.json names them.
      folder: an empty folder.
      allowance: not asked: every model has its task.

    Returns:
      The account of the writing.

    Raises:
      ValueError: for a model that none of kbert's tasks answers rightly.
    """
    from kbert.runs import checkpoint as training_checkpoint
    from kbert.runs.run_directory import RunDirectory

    report = Report(FORMAT, str(folder))
    shapes = checkpoint.shapes
    for name in checkpoint.tensors:
        if name in shapes:
            report.taken.append((name, name, "as it is"))
        else:
            report.left_over.append((name, f"kbert's {checkpoint.task} model has no such variable"))
    report.not_in_file.extend((name, "initialised afresh, named in run.json") for name in checkpoint.missing)

    details = {
        "task": checkpoint.task,
        "task_config": task_of(checkpoint).get_config() | _pairs(checkpoint),
        "max_seq_length": checkpoint.max_seq_length,
        "converted": {
            "from": checkpoint.source,
            "format": checkpoint.report.format,
            "initialised": list(checkpoint.missing),
        },
    }
    run = RunDirectory.create_or_resume(folder, _config(checkpoint), details, checkpoint.vocabulary)
    training_checkpoint.save_checkpoint(
        run.checkpoints,
        step=0,
        weights=checkpoint.complete(),
        slots={},
        state={"examples_consumed": 0},
        keep=1,
    )
    return report


def _pairs(checkpoint):
    """What the task's record says of pairs, where the checkpoint knows."""
    return {} if checkpoint.takes_pairs is None else {"takes_pairs": checkpoint.takes_pairs}


def _config(checkpoint):
    config_class = TASKS[checkpoint.task].config_class
    description = f"Converted from {checkpoint.source}"
    if issubclass(config_class, PretrainingConfig):
        return config_class(description=description, encoder=checkpoint.encoder)
    return config_class(
        description=description,
        encoder=checkpoint.encoder,
        task=checkpoint.task,
        dataset=DatasetConfig(
            labels=checkpoint.labels if TASKS[checkpoint.task].has_labels else (),
            text_pair="text_pair" if checkpoint.takes_pairs else None,
        ),
        max_seq_length=checkpoint.max_seq_length,
    )
