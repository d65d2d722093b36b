"""The quickstart from text: the steps of its recipe, then what they have made, measured and shown."""

import base64
import importlib.metadata
import math
import platform
import statistics
import time
from pathlib import Path

from kbert import __version__
from kbert.cores import num_cores
from kbert.files.json_file import parse_json, read_json
from kbert.files.safetensors_file import read_safetensors
from kbert.files.text_file import read_lines
from kbert.files.whole_file import write_json
from kbert.manifest import read_manifest
from kbert.quickstart.answers import ask_every_way
from kbert.quickstart.recipe import PAGES, run_recipe, text_folder
from kbert.reports.page import render
from kbert.reports.page import write_page as write_html_page
from kbert.reports.run_charts import draw_curves
from kbert.reports.seed_summary import FILE_NAME as SUMMARY
from kbert.runs.checkpoint import WEIGHTS_FILE
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.pages.content import shortened

_COLUMNS = 99
_RESULTS, _PICTURE, _PAGE = PAGES


def quickstart(output_dir: Path):
    """Runs all steps, and writes results.json, curves.png and index.html.

    Args:
      output_dir: a new or empty folder, or that of an earlier quickstart, which is removed.

    Raises:
      ValueError: when the folder holds something else, or a step fails.
    """
    began, paths = time.monotonic(), paths_in(output_dir)
    steps = run_recipe("from_text.sh", output_dir)
    results = {
        "kbert_version": __version__,
        "python": platform.python_version(),
        "tensorflow": importlib.metadata.version("tensorflow"),
        "cores": num_cores(),
        "output_dir": str(output_dir.resolve()),
        "paths": {name: str(path) for name, path in paths.items()},
        **_figures(output_dir, paths),
        "answers": ask_every_way(paths),
        "steps": steps,
        "total_seconds": round(time.monotonic() - began, 1),
    }
    control = paths["classifiers without pretraining"] / paths["classifier run"].name
    curves = draw_curves(
        {
            "pretraining": paths["pretraining run"],
            "classifier": paths["classifier run"],
            "classifier without pretraining": control,
        },
        "kbert quickstart",
    )
    (output_dir / _PICTURE).write_bytes(curves)
    write_json(results, output_dir / _RESULTS)
    write_page(results, curves, paths["this page"])
    print("\n" + results_table(results))


def write_page(results: dict, curves_png: bytes, path: Path):
    """Writes the page. The file appears only when it is complete.

    Args:
      results: the results of the quickstart, ready for JSON.
      curves_png: the picture of the training curves.
      path: the .html file to write.
    """
    picture = base64.b64encode(curves_png).decode("ascii")
    write_html_page(path, "quickstart.html", title="kbert quickstart", picture=picture, **results)


def results_table(results: dict) -> str:
    """The results as plain text, less than 100 columns wide except for the paths at its end (never cut)."""
    table = render("quickstart.txt", **results)
    paths = [f"{what:<32}{where}" for what, where in results["paths"].items()]
    return "\n".join([*(shortened(line.rstrip(), _COLUMNS) for line in table.splitlines()), "", *paths])


def paths_in(output_dir: Path) -> dict[str, Path]:
    """Where each part of the quickstart lies, by its name in the report."""
    return {
        "corpus": text_folder(),
        "vocabulary": output_dir / "vocab.txt",
        "records": output_dir / "records",
        "pretraining run": output_dir / "pretraining",
        "classifiers": output_dir / "classifiers",
        "classifiers without pretraining": output_dir / "classifiers_from_scratch",
        # The first seed: never the best, which only the test passages could tell.
        "classifier run": output_dir / "classifiers" / "seed-1",
        "SavedModel": output_dir / "serving" / "library_area",
        "LiteRT": output_dir / "litert",
        "this page": output_dir / _PAGE,
    }


def _figures(output_dir: Path, paths: dict[str, Path]) -> dict:
    """The figures of data, vocabulary, pretraining and classifier, and the classifier's sizes in bytes."""
    manifest, filled = read_manifest(paths["records"] / "train"), output_dir / "fill_mask.jsonl"
    return {
        "corpus": {name: manifest.statistics[name] for name in ("documents", "sentences", "tokens")}
        | {"examples": manifest.num_examples},
        "vocabulary": {
            "size": manifest.vocabulary["size"],
            "unknown_share": manifest.statistics["unknown_share"],
        },
        "pretraining": read_json(output_dir / "masked_lm.json") | _training_figures(paths["pretraining run"]),
        "fill_mask": [parse_json(line, str(filled)) for line in read_lines(filled)],
        "classifier": _classifier_figures(read_json(output_dir / "classifier.json"), paths),
        "sizes": [{"what": what, "bytes": size} for what, size in _sizes(paths).items()],
    }


def _training_figures(run_dir):
    run = RunDirectory(run_dir)
    rates = [
        line["examples_per_second"] for line in read_metrics(run.metrics_file) if line["split"] == "train"
    ]
    weights = read_safetensors(run.checkpoint() / WEIGHTS_FILE)
    return {
        "num_train_steps": run.config.num_train_steps,
        "examples_per_second": statistics.median_high(rates),
        "num_parameters": sum(math.prod(tensor.shape) for tensor in weights.values()),
    }


def _classifier_figures(shown, paths):
    """Of the trainings over their seeds; `shown` are the metrics of the classifier that is shown."""
    run = RunDirectory(paths["classifier run"])
    folders = {"pretrained": paths["classifiers"], "from_scratch": paths["classifiers without pretraining"]}
    trained = {way: read_json(folder / SUMMARY)["metrics"] for way, folder in folders.items()}
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


def _sizes(paths):
    weights = RunDirectory(paths["classifier run"]).checkpoint() / WEIGHTS_FILE
    served = [file for file in (paths["SavedModel"] / "1").rglob("*") if file.is_file()]
    return {
        "checkpoint, weights only": weights.stat().st_size,
        "SavedModel, with tokenizer": sum(file.stat().st_size for file in served),
        "LiteRT float32": (paths["LiteRT"] / "model_float32.tflite").stat().st_size,
        "LiteRT dynamic int8": (paths["LiteRT"] / "model_dynamic_int8.tflite").stat().st_size,
    }


def verdict(pretrained: dict, from_scratch: dict) -> str:
    """Says whether pretraining helped: only a difference larger than the deviation between seeds counts.

    Args:
      pretrained, from_scratch: the accuracy over the seeds, as `summarize_seeds` gives it: `mean`,
        `deviation` and `values`, shares from 0 to 1.
    """
    points = 100 * (pretrained["mean"] - from_scratch["mean"])
    deviation = 100 * max(pretrained["deviation"], from_scratch["deviation"])
    seeds = f"{len(pretrained['values'])} seeds"
    if abs(points) <= deviation:
        return (
            f"These {seeds} do not tell whether pretraining helped: {points:+.1f} points, and the deviation "
            f"between seeds is {deviation:.1f}."
        )
    outcome = "Pretraining helped" if points > 0 else "Pretraining did not help; it lost"
    return f"{outcome}: {points:+.1f} points of accuracy over {seeds}, which deviate by {deviation:.1f}."
