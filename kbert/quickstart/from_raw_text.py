"""The quickstart, from its first step to its report.

Modules that need TensorFlow are imported only when they are used, so that the first step starts at once.
"""

import importlib.metadata
import os
import platform
from pathlib import Path

from kbert import __version__
from kbert.files.whole_file import write_json
from kbert.quickstart import commands
from kbert.quickstart.command_sequence import CommandSequence, prepare_folder


def quickstart(directory: Path) -> dict:
    """Runs all steps and writes the report.

    Args:
      directory: a new or empty folder, or that of an earlier quickstart, which is removed.

    Returns:
      The results as a dict; they are also written to `directory/results.json`.

    Raises:
      ValueError: when the folder holds something else, or a step fails.
    """
    prepare_folder(directory)
    sequence, at = CommandSequence(directory), commands.paths_in(directory)
    commands.make_data(sequence, at)
    trained = commands.train(sequence, at)
    results = _machine() | {
        "directory": str(directory.resolve()),
        "paths": {name: str(path) for name, path in at.items()},
        **_measured(sequence, at, trained),
        "steps": sequence.steps,
        "total_seconds": round(sequence.total_seconds, 1),
    }
    _write_reports(directory, at, results)
    return results


def _machine():
    return {
        "kbert_version": __version__,
        "python": platform.python_version(),
        "tensorflow": importlib.metadata.version("tensorflow"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def _measured(sequence, at, trained):
    from kbert.quickstart.answers import ask_every_way
    from kbert.quickstart.figures import figures_of, sizes_of

    masked_lm, filled = commands.evaluate_pretraining(sequence, at)
    shown = commands.evaluate_classifier(sequence, at)
    figures = figures_of(at, masked_lm, filled, trained, shown)
    sizes = sizes_of(at, *commands.export(sequence, at))
    return figures | {"sizes": sizes, "answers": ask_every_way(at, sequence.logs)}


def _write_reports(directory, at, results):
    from kbert.reports.quickstart import results_table, write_page
    from kbert.reports.run_charts import draw_curves

    control = at["classifiers without pretraining"] / at["classifier run"].name
    runs = {
        "pretraining": at["pretraining run"],
        "classifier": at["classifier run"],
        "classifier without pretraining": control,
    }
    curves = draw_curves(runs, "kbert quickstart")
    (directory / "curves.png").write_bytes(curves)
    write_json(results, directory / "results.json")
    write_page(results, curves, at["this page"])
    print("\n" + results_table(results))
