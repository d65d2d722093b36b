"""The tables of long measurements of training: loss by time, and what a second core brings."""

from benchmarks.figures.formats import bare, fixed, two, whole
from benchmarks.figures.grids import Column, Row, grid, table_row
from benchmarks.figures.records import figure, last_record

_SYSTEMS = {"kbert": "kbert", "model_garden": "Model Garden", "hugging_face": "Hugging Face"}


def time_to_quality():
    """(lines, records); so are the others."""
    return _loss_by_time("time_to_quality")


def time_to_quality_one_hour():
    return _loss_by_time("time_to_quality_one_hour")


def _loss_by_time(name):
    """Losses that nobody reached have no column."""
    record = last_record(name)
    levels = {level for row in record["rows"].values() for level, seconds in row["seconds_to"].items()
              if seconds is not None}  # fmt: skip
    columns = (
        Column("steps", whole, (("steps",),)),
        Column("s/step", bare, (("seconds_per_step",),)),
        *(
            Column(f"loss after {float(share) * record['minutes']:g} min", bare, (("losses", share),), "min")
            for share in ("0.25", "0.5", "1")
        ),
        *(
            Column(f"min to {level}", _minutes, (("seconds_to", level),), "min", may_lack=True)
            for level in sorted(levels, key=float, reverse=True)
        ),
    )
    rows = [Row(_label(name), record, name) for name in record["rows"]]
    return grid("", columns, rows), [record]


def scaling():
    record = last_record("scaling")
    heads = (
        "",
        "global batch",
        "all-reduce",
        "MB all-reduced",
        "s/step",
        "CPU s",
        "examples/s",
        "efficiency",
    )
    lines = [table_row(*heads).replace("|  |", "| |"), f"|---|{'|'.join('---:' for _ in heads[1:])}|"]
    return lines + [_scaling_row(record, name) for name in record["rows"]], [record]


def _scaling_row(record, name):
    row = record["rows"][name]
    size = row["gradient_bytes"]
    return table_row(
        name.partition("/")[0],
        whole(figure(record, name, "batch_size")),
        row["all_reduce_dtype"] or "",
        fixed(size / 1e6) if size else "",
        bare(figure(record, name, "seconds")),
        two(figure(record, name, "cpu_seconds")),
        fixed(figure(record, name, "examples_per_second")),
        f"{100 * figure(record, name, 'efficiency'):.0f} %",
    )


def _minutes(seconds):
    return fixed(seconds / 60)


def _label(name):
    """ "hugging_face+compile/bfloat16" -> "Hugging Face, bfloat16, compiled"."""
    contestant, _, precision = name.partition("/")
    system, _, compiled = contestant.partition("+")
    return f"{_SYSTEMS[system]}, {precision}{', compiled' * bool(compiled)}"
