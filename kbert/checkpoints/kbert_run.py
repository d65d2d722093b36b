"""kbert's own run directories: any run in, and a converted checkpoint out as a run of 0 steps."""

from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint, has_labels
from kbert.checkpoints.model_loading import task_of
from kbert.checkpoints.model_variables import PARTS
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig, FinetuningConfig, PretrainingConfig
from kbert.files.safetensors_file import read_safetensors

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
    task = run.details["task"]
    if task == "pretraining" and not run.task().next_sentence:
        task = "masked_lm"
    if task not in PARTS:
        raise ValueError(f"{path} is a {task} run, which checkpoints cannot express.")
    dataset = getattr(run.config, "dataset", None)
    weights = run.checkpoint() / training_checkpoint.WEIGHTS_FILE
    result = BertCheckpoint(
        source=str(path),
        encoder=run.config.encoder,
        task=task,
        labels=dataset.labels if has_labels(task) else (),
        vocabulary=vocabulary,
        tensors={},
        max_seq_length=run.details.get("max_seq_length", run.config.encoder.max_position_embeddings),
        report=report,
        takes_pairs=dataset.text_pair is not None if task == "sequence_classification" else None,
        problem_type=None,
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
        raise ValueError(f"{weights} holds {strange[0]!r}, which this {task} model has no place for.")
    return result


def write_kbert_run(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes a run of 0 steps, which evaluation, prediction, export and --init_checkpoint take.

    Args:
      checkpoint: the model. Variables that it lacks get fresh numbers, and run.json names them.
      folder: an empty folder.
      allowance: `problem_type`: keep a regression's or a multi-label model's logits all the same.

    Returns:
      The account of the writing.

    Raises:
      ValueError: for a model that none of kbert's tasks answers rightly.
    """
    from kbert.runs import checkpoint as training_checkpoint
    from kbert.runs.run_directory import RunDirectory

    report = Report(FORMAT, str(folder))
    if checkpoint.task == "sequence_classification" and len(checkpoint.labels) < 2:
        raise ValueError(
            f"{checkpoint.source} is a regression model (one output), which kbert has no task for; "
            "--encoder_only takes its encoder without the head."
        )
    if checkpoint.problem_type:
        allowance.conflict(
            "problem_type",
            f"{checkpoint.source} is a model for {checkpoint.problem_type}, but kbert's {checkpoint.task} "
            "answers with one label out of several; --encoder_only takes the encoder without the head",
            report,
        )
    shapes = checkpoint.shapes
    for name in checkpoint.tensors:
        if name in shapes:
            report.taken.append((name, name, "as it is"))
        else:
            report.left_over.append((name, f"kbert's {checkpoint.task} model has no such variable"))
    report.not_in_file.extend((name, "initialised afresh, named in run.json") for name in checkpoint.missing)

    details = {
        "task": task_of(checkpoint).name,
        "max_seq_length": checkpoint.max_seq_length,
        "converted": {
            "from": checkpoint.source,
            "format": checkpoint.report.format,
            "initialised": list(checkpoint.missing),
        },
    }
    if checkpoint.task == "masked_lm":
        details["next_sentence"] = False
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


def _config(checkpoint):
    description = f"Converted from {checkpoint.source}"
    if checkpoint.task in ("pretraining", "masked_lm"):
        return PretrainingConfig(description=description, encoder=checkpoint.encoder)
    return FinetuningConfig(
        description=description,
        encoder=checkpoint.encoder,
        task=checkpoint.task,
        dataset=DatasetConfig(
            labels=checkpoint.labels, text_pair="text_pair" if checkpoint.takes_pairs else None
        ),
        max_seq_length=checkpoint.max_seq_length,
    )
