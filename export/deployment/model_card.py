"""The card of an export: what it is, what it was trained on, what it answers, and what that takes."""

from pathlib import Path

import tensorflow as tf

from kbert.inference.changes import changes_since_checkpoint
from kbert.reports.page import write_page
from kbert.runs import checkpoint as checkpoints
from kbert.runs.metrics_file import COURSE_FIELDS, read_metrics

from ..gate.op_gate import read_saved_model

CARD_FILE, PAGE_FILE = "model_card.json", "model_card.html"


def model_card(serving_model, directory, report: dict) -> dict:
    """The card, ready for JSON. A model that was changed since its checkpoint, or whose vectors are cut, has
    no metrics of it.

    Args:
      serving_model: the `ServingModel` that was exported.
      directory: the folder of the SavedModel.
      report: of the checks, as `export_savedmodel` returns it, with num_warmup_requests and measured.
    """
    loaded, run = serving_model.loaded, serving_model.loaded.run
    config = loaded.config
    changed = ["dimensions"] * ("dimensions" in report) + changes_since_checkpoint(loaded)
    trained = run if run and "converted" not in run.details else None  # of 0 steps: its config was not used
    chosen = _chosen(serving_model.task, run.task()) if run else {}
    return {
        "task": serving_model.task.name,
        "labels": list(serving_model.labels),
        "max_seq_length": loaded.max_seq_length,
        "vocabulary": loaded.vocabulary.describe() | {"size": len(loaded.vocabulary)},
        "encoder": {
            "layers": config.num_hidden_layers,
            "hidden_size": config.hidden_size,
            "heads": config.num_attention_heads,
        },
        "checkpoint": str(serving_model.checkpoint),
        "signatures": _signatures(directory),
        "training": _training(trained, checkpoints.parse_step(loaded.checkpoint)) if trained else None,
        "chosen": chosen,
        "changed": changed,
        # A training evaluates without what is chosen later.
        "metrics": _metrics(trained, checkpoints.parse_step(loaded.checkpoint))
        if trained and not (chosen or changed)
        else {},
    } | report


def write_card_page(title: str, card: dict, path: Path):
    """The card as a page for people."""
    shown = {name: value for name, value in card["metrics"].items() if name not in COURSE_FIELDS}
    write_page(path, "model_card.html", title=title, card=card, metrics=shown)


def _signatures(directory) -> dict:
    """name -> {"inputs", "outputs"}, each name -> "dtype [shape]"; "?" is any size."""
    return {
        name: {"inputs": _tensors(signature.inputs), "outputs": _tensors(signature.outputs)}
        for meta_graph in read_saved_model(directory).meta_graphs
        for name, signature in sorted(meta_graph.signature_def.items())
        if not name.startswith("__")  # what initializes the SavedModel
    }


def _tensors(infos) -> dict[str, str]:
    return {name: _written(info) for name, info in sorted(infos.items())}


def _written(info) -> str:
    sizes = ["?" if dim.size < 0 else str(dim.size) for dim in info.tensor_shape.dim]
    shape = "of any shape" if info.tensor_shape.unknown_rank else f"[{', '.join(sizes)}]"
    return f"{tf.as_dtype(info.dtype).name} {shape}"


def _chosen(task, recorded) -> dict:
    """What an evaluation chose for the answers of a task, in the place of what the run recorded."""
    before = recorded.get_config()
    return {name: value for name, value in task.get_config().items() if value != before[name]}


def _training(run, step) -> dict:
    """What the run says of its data and its start."""
    details, config = run.details, run.config
    known = {
        "train_file": details.get("train_file"),
        "num_train_examples": details.get("num_train_examples"),
        "data_fingerprint": details.get("data", {}).get("train"),
        "init_checkpoint": details.get("init_checkpoint"),
        "step": step,
        "num_train_epochs": getattr(config, "num_train_epochs", None),
        "train_batch_size": config.train_batch_size,
        "learning_rate": config.optimizer.learning_rate,
        "precision": config.precision,
        "seed": config.seed,
    }
    return {name: value for name, value in known.items() if value is not None}


def _metrics(run, step) -> dict:
    """The numbers of the evaluation of the exported checkpoint; of the last before it where there is none."""
    if not Path(run.metrics_file).is_file():
        return {}
    lines = [line for line in read_metrics(run.metrics_file) if line.get("split") != "train"]
    lines = [line for line in lines if line["step"] <= step]
    if not lines:
        return {}
    return {name: value for name, value in lines[-1].items() if isinstance(value, int | float)}
