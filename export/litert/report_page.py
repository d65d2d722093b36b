"""The page of an export to LiteRT: size, speed, quality and ops of each file, in one HTML file."""

from html import escape

from kbert.reporting.html_page import facts, page, section, table
from kbert.reporting.run_metrics import score_text, words

_FROM_TEXTS = {"mediapipe": "MediaPipe", "tokenizer_inside": "With the tokenizer inside"}
_XNNPACK = "Medians of one call on a full row, with XNNPACK (LiteRT's default on CPUs), in milliseconds."


def report_page(title: str, reports: dict[str, dict], keras_metrics: dict, best_metric: str) -> str:
    """The page.

    Args:
      title: what was exported.
      reports: quantization -> the report of its file, see `export_tflite`.
      keras_metrics: of the Keras model on the same data; empty without labels.
      best_metric: the metric that the first table shows.

    Returns:
      HTML without scripts, which needs nothing else.
    """
    first = next(iter(reports.values()))
    sections = [
        section("Files", _files(reports, keras_metrics, best_metric)),
        section("Speed", f"<p>{_XNNPACK}</p>{_speed(reports)}"),
        section("Differences from Keras", _differences(reports) + _cosines(reports)),
    ]
    if keras_metrics:
        sections.append(section("Scores", _scores(reports, keras_metrics)))
    for key, heading in _FROM_TEXTS.items():
        if key in first:
            sections.append(section(heading, _other_reading([one[key] for one in reports.values()])))
    sections.append(section("Ops", f"<p>All are built into LiteRT.</p>{_ops(reports)}"))
    return page(title, _lead(reports), _note(first), sections)


def _lead(reports):
    least = min(reports, key=lambda name: reports[name]["agreement"])
    return (
        f"{len(reports)} LiteRT files; the least agreement with Keras is "
        f"<b>{reports[least]['agreement']:.2%}</b> (<b>{escape(least)}</b>)."
    )


def _note(report):
    return (
        f"Compared on {escape(report['compared_on'])}: {report['num_answers']:,} answers. Lengths: "
        f"{', '.join(map(str, report['lengths']))}."
    )


def _files(reports, keras_metrics, best):
    shown = [best] if best in keras_metrics else []
    head = ["file", "MB", *map(words, shown), "agreement", "largest difference"]
    rows = [
        [
            name,
            f"{one['bytes'] / 1e6:.2f}",
            *(score_text(one["metrics"][metric]) for metric in shown),
            f"{one['agreement']:.2%}",
            f"{one['max_difference']:.2g}",
        ]
        for name, one in reports.items()
    ]
    keras = {f"Keras, {words(metric)}": score_text(keras_metrics[metric]) for metric in shown}
    return (facts(keras) if keras else "") + table(head, rows)


def _speed(reports):
    threads = list(next(iter(next(iter(reports.values()))["latency_ms"].values())))
    head = ["file", "length", *(f"{n} thread{'s' * (n != '1')}" for n in threads)]
    rows = [
        [name, length, *(f"{times[n]:.2f}" for n in threads)]
        for name, one in reports.items()
        for length, times in one["latency_ms"].items()
    ]
    return table(head, rows)


def _differences(reports):
    keys = ["median", "p90", "p99", "max"]
    rows = [
        [name, output, *(f"{quantiles[key]:.2g}" for key in keys)]
        for name, one in reports.items()
        for output, quantiles in one["differences"].items()
    ]
    text = "<p>Of each row the largest difference in an output; over all rows:</p>"
    return text + table(["file", "output", *keys], rows, num_text_columns=2)


def _cosines(reports):
    """Of vectors how near each is to Keras's; nothing for other answers."""
    rows = [[name, *map(_cosine, one["cosine"].values())] for name, one in reports.items() if "cosine" in one]
    if not rows:
        return ""
    keys = next(one["cosine"] for one in reports.values() if "cosine" in one)
    return "<p>The cosine of each vector with Keras's, over all texts:</p>" + table(["file", *keys], rows)


def _cosine(value) -> str:
    return f"{value:.6f}"


def _scores(reports, keras_metrics):
    rows = [
        [words(metric), score_text(value), *(score_text(one["metrics"][metric]) for one in reports.values())]
        for metric, value in keras_metrics.items()
    ]
    return table(["score", "Keras", *reports], rows)


def _other_reading(reports):
    """What a tokenizer with rules of its own reads otherwise, and the files that it reads for."""
    files = [[one["file"], f"{one['bytes'] / 1e6:.2f}", f"{one['agreement']:.2%}"] for one in reports]
    found = reports[0]
    listed = found["read_otherwise"]
    texts = [[one["text"], ", ".join(one["reasons"]), one["expected"], one["read"]] for one in listed]
    lead = (
        f"Its tokenizer reads {found['read_alike']:,} of {found['num_texts']:,} texts as kbert does. The "
        "agreement with Keras is that of all texts, read its way."
    )
    if ops := found.get("custom_ops"):
        lead += f" An app must link {', '.join(ops)}, of TF-Text."
    if not texts:
        return f"<p>{lead}</p>" + table(["file", "MB", "agreement"], files)
    head = ["text", "it has", "kbert's piece", "the other"]
    return (
        f"<p>{lead}</p>" + table(["file", "MB", "agreement"], files) + table(head, texts, num_text_columns=4)
    )


def _ops(reports):
    ops = sorted({op for one in reports.values() for op in one["ops"]})
    rows = [[op, *(f"{one['ops'].get(op, 0):,}" for one in reports.values())] for op in ops]
    return table(["op, in all graphs of a file", *reports], rows)
