"""The figures of the quickstart, from the output and the files of its commands."""

import math
import statistics
from pathlib import Path

from kbert.files.safetensors_file import read_safetensors
from kbert.manifest import read_manifest
from kbert.quickstart.verdict import verdict
from kbert.runs.checkpoint import WEIGHTS_FILE
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory


def figures_of(
    at: dict[str, Path], masked_lm: dict, filled: list[dict], trained: dict[str, dict], shown: dict
) -> dict:
    """The figures of data, vocabulary, pretraining and classifier.

    Args:
      at: see `commands.paths_in`.
      masked_lm: the metrics of the pretraining on held-out text.
      filled: texts with masks, and the tokens that the model predicts for them.
      trained: the metrics of the classifiers over the seeds, see `commands.train`.
      shown: the metrics of the classifier that is shown, on the test passages.
    """
    manifest = read_manifest(at["records"] / "train")
    return {
        "corpus": {name: manifest.statistics[name] for name in ("documents", "sentences", "tokens")}
        | {"examples": manifest.num_examples},
        "vocabulary": {
            "size": manifest.vocabulary["size"],
            "unknown_share": manifest.statistics["unknown_share"],
        },
        "pretraining": masked_lm | _training_figures(RunDirectory(at["pretraining run"])),
        "fill_mask": filled,
        "classifier": _classifier_figures(RunDirectory(at["classifier run"]), trained, shown),
    }


def sizes_of(at: dict[str, Path], saved_model: dict, litert: dict) -> list[dict]:
    """The size of the classifier in bytes, in each of its formats.

    Args:
      at: see `commands.paths_in`.
      saved_model, litert: the reports of the exporters.
    """
    weights = RunDirectory(at["classifier run"]).checkpoint() / WEIGHTS_FILE
    return [
        {"what": "checkpoint, weights only", "bytes": weights.stat().st_size},
        {"what": "SavedModel, with tokenizer", "bytes": saved_model["bytes"]},
        {"what": "LiteRT float32", "bytes": litert["float32"]["bytes"]},
        {"what": "LiteRT dynamic int8", "bytes": litert["dynamic_int8"]["bytes"]},
    ]


def _training_figures(run):
    lines = read_metrics(run.metrics_file)
    rates = [line["examples_per_second"] for line in lines if line["split"] == "train"]
    weights = read_safetensors(run.checkpoint() / WEIGHTS_FILE)
    return {
        "num_train_steps": run.config.num_train_steps,
        "examples_per_second": statistics.median(rates),
        "num_parameters": sum(math.prod(tensor.shape) for tensor in weights.values()),
    }


def _classifier_figures(run, trained, shown):
    scores = {
        way: {name: metrics[f"test_{name}"] for name in ("accuracy", "f1", "loss")}
        for way, metrics in trained.items()
    }
    return {
        "labels": list(run.config.dataset.labels),
        "num_train_examples": run.details["num_train_examples"],
        "num_test_examples": shown["num_examples"],
        "baseline_accuracy": shown["baseline_accuracy"],
        "confusion": shown["confusion"],
        **scores,
        "verdict": verdict(scores["pretrained"]["accuracy"], scores["from_scratch"]["accuracy"]),
    }
