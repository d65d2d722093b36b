"""What came out: teacher, student and its LiteRT files side by side, as a dict and as a page."""

from html import escape

from kbert.reporting.html_page import page, section, table
from kbert.reporting.run_metrics import score_text, words

_ABOUT_FILES = ("bytes", "metrics", "agreement", "latency_ms")


def student_report(models: dict[str, dict], files: dict) -> dict:
    """The report of a student.

    Args:
      models: "teacher", "cut teacher" and "student" -> what `measured_model` gives.
      files: what `export_tflite` returns.

    Returns:
      dict: path of the files; best_metric; models, as given; files: quantization -> bytes, metrics,
      agreement, latency_ms; typical: median_tokens of the development texts, and the
      length that has room for them.
    """
    student, path = models["student"], files.pop("path")
    tokens = student["median_tokens"]
    lengths = next(iter(files.values()))["lengths"]
    hidden = ("best_metric", "median_tokens")
    return {
        "path": path,
        "best_metric": student["best_metric"],
        "models": {name: {k: v for k, v in one.items() if k not in hidden} for name, one in models.items()},
        "files": {name: {key: one[key] for key in _ABOUT_FILES} for name, one in files.items()},
        "typical": {
            "median_tokens": tokens,
            "length": next((length for length in lengths if tokens <= length), lengths[-1]),
        },
    }


def student_page(name: str, report: dict) -> str:
    """An HTML page of a report, without scripts; `name`: that of the folder."""
    metric, typical = report["best_metric"], report["typical"]
    smallest = min(report["files"].values(), key=lambda one: one["bytes"])
    lead = (
        f"{smallest['bytes'] / 1e6:.2f} MB, {escape(words(metric))} {_score(smallest, report)}; the "
        f"teacher's is {_score(report['models']['teacher'], report)}."
    )
    note = (
        f"Half of the texts have at most {typical['median_tokens']} tokens, and go to the length "
        f"{typical['length']}. Milliseconds are medians of one full row on the machine that exported."
    )
    return page(
        f"A student for phones: {name}",
        lead,
        note,
        [section("Models", _models(report)), section("LiteRT files", _files(report))],
    )


def _models(report):
    rows = [
        [name, str(one["layers"]), f"{one['pieces']:,}", f"{one['parameters']:,}", _score(one, report)]
        for name, one in report["models"].items()
    ]
    return table(["model", "layers", "pieces", "parameters", words(report["best_metric"])], rows)


def _files(report):
    length = str(report["typical"]["length"])
    rows = [
        [
            name,
            f"{one['bytes'] / 1e6:.2f}",
            _score(one, report),
            f"{one['agreement']:.2%}",
            f"{one['latency_ms'][length]['1']:.2f}",
            f"{one['latency_ms'][length]['2']:.2f}",
        ]
        for name, one in report["files"].items()
    ]
    heads = ["file", "MB", words(report["best_metric"]), "agreement with Keras"]
    return table([*heads, f"ms, {length} tokens, 1 thread", "2 threads"], rows)


def _score(one, report) -> str:
    return score_text(one["metrics"][report["best_metric"]])
