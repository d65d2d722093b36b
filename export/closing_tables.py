"""What the exporters print last, from their reports, for people."""

from collections.abc import Mapping
from pathlib import Path

from kbert.reports.text_table import text_table

from .deployment.model_card import PAGE_FILE
from .folder_names import ABOUT_FILE, EXTRA_FOLDER


def savedmodel_values(report: Mapping) -> dict[str, object]:
    """The closing table of `export_savedmodel`: name -> value."""
    path = Path(report["path"])
    return {
        "SavedModel": path,
        "size": megabytes(report["bytes"]),
        "parameters": report["parameters"],
        "same answers as Keras": _agreement(report),
        "largest difference": f"{report['max_difference']:.2g}",
        "compared on": report["compared_on"],
        "oldest server": report["oldest_server"],
        "page": path / EXTRA_FOLDER / PAGE_FILE,
        "the same as JSON": path / EXTRA_FOLDER / ABOUT_FILE,
        "to serve it": report["docker"],
    }


def litert_table(reports: Mapping[str, Mapping]) -> str:
    """A row for each file: size, agreement with Keras, and milliseconds at its longest length.

    Args:
      reports: quantization -> report, as `export_tflite` returns them; of each `bytes`, `agreement` and
        `latency_ms` are used.
    """
    rows = [["file", "size", "same answers as Keras", "longest row, 1 thread"]]
    for name, one in reports.items():
        length, by_threads = list(one["latency_ms"].items())[-1]
        milliseconds = f"{by_threads['1']:.2f} ms ({length} tokens)"
        rows.append([name, megabytes(one["bytes"]), f"{one['agreement']:.2%}", milliseconds])
    return text_table(rows)


def _agreement(report):
    """None where the answers are no labels: the largest difference tells."""
    share = report["answers_agree"]
    return None if share is None else f"{share:.2%} of {report['answers_compared']:,}"


def megabytes(number: int) -> str:
    """12345678 -> "12.35 MB"; a megabyte is 1,000,000 bytes."""
    return f"{number / 1e6:.2f} MB"
