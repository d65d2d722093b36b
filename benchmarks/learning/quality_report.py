"""What time_to_quality.py prints and draws: loss after given times, minutes to given losses."""

import statistics

from benchmarks import training_step
from kbert.reports.line_charts import Chart, Kind, Series
from kbert.reports.page import write_page as write_html

# A contestant is (system, whether it is compiled, precision).
_SHARES = (0.25, 0.5, 1.0)


def label(key) -> str:
    system, compiled, precision = key
    return f"{training_step.label(system, compiled)}, {precision}"


def results(curves, records, seconds, levels) -> dict:
    """Contestant -> its figures.

    Args:
      curves: contestant -> `LossByTime`.
      records: contestant -> `Record`.
      seconds: how long each has trained.
      levels: losses whose time is wanted.
    """
    return {
        key: {
            "steps": len(records[key].steps),
            "seconds_per_step": statistics.median(step["seconds"] for step in records[key].steps),
            "cpu_seconds": statistics.median(step["cpu_seconds"] for step in records[key].steps),
            "first_step": records[key].steps[0]["seconds"],
            "losses": [curve.at(share * seconds) for share in _SHARES],
            "seconds_to": [curve.seconds_to(level) for level in levels],
        }
        for key, curve in curves.items()
    }


def _heads(minutes, levels) -> list[str]:
    times = [f"loss at {share * minutes:g} min" for share in _SHARES]
    return [
        "",
        "steps",
        "s/step",
        "CPU s/step",
        "first step, s",
        *times,
        *(f"min to {level:g}" for level in levels),
    ]


def _cells(key, facts) -> list[str]:
    losses = ["-" if loss is None else f"{loss:.3f}" for loss in facts["losses"]]
    minutes = ["-" if seconds is None else f"{seconds / 60:.2f}" for seconds in facts["seconds_to"]]
    return [
        label(key), f"{facts['steps']:,}", f"{facts['seconds_per_step']:.3f}", f"{facts['cpu_seconds']:.2f}",
        f"{facts['first_step']:.1f}", *losses, *minutes,
    ]  # fmt: skip


def table(found, minutes, levels) -> str:
    """Markdown, with a row for each contestant; "-" where a loss was not reached."""
    heads = _heads(minutes, levels)
    rows = [heads, ["---"] + ["---:"] * (len(heads) - 1)] + [_cells(*item) for item in found.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figures(found, levels) -> dict[str, dict]:
    """The closing line's rows: "hugging_face+compile/bfloat16" -> figures."""
    names = {"losses": [f"{share:g}" for share in _SHARES], "seconds_to": [f"{level:g}" for level in levels]}
    return {
        f"{system}{'+compile' * compiled}/{precision}": facts
        | {key: dict(zip(of, facts[key], strict=True)) for key, of in names.items()}
        for (system, compiled, precision), facts in found.items()
    }


def closing(curves, found, seconds) -> dict:
    """The keys of the closing JSON: final losses, and how much sooner kbert has the best peer's final loss.

    "ratio" is the time of that peer over kbert's to the same loss, which is the higher of their two last
    ones, so that both have reached it.
    """
    final = {key: facts["losses"][-1] for key, facts in found.items()}
    ours = next((key for key in final if key[0] == "kbert"), None)
    peers = {key: loss for key, loss in final.items() if key[0] != "kbert" and loss is not None}
    values = {
        "minutes": seconds / 60,
        "kbert": ours and {"loss": final[ours], "precision": ours[2]},
        "peers": {label(key): loss for key, loss in peers.items()},
    }
    if ours is None or final[ours] is None or not peers:
        return values
    best = min(peers, key=lambda key: peers[key])
    goal = max(final[ours], peers[best])
    times = [curves[key].seconds_to(goal) for key in (best, ours)]
    if None in times:  # fewer steps than a window
        return values
    return values | {
        "ratio": round(times[0] / times[1], 2),
        "ratio_to": label(best),
        "at_loss": round(goal, 3),
    }


def write_page(path, curves, found, minutes, levels, window):
    """The curves over seconds, and the table."""
    series = [
        Series(label(key), colour, curve.seconds[window - 1 :].tolist(), curve.losses[window - 1 :].tolist())
        for colour, (key, curve) in enumerate(curves.items())
    ]
    kind = Kind("{:.3f}".format, from_zero=False)
    chart = Chart("masked-LM loss", series, kind, round(60 * minutes), along="second")
    colours = ("blue", "orange", "green")
    lead = f"Loss after {minutes:g} minutes of training: " + "; ".join(
        f"{label(key)} {found[key]['losses'][-1]:.3f}" for key in curves if found[key]["losses"][-1]
    )
    note = (
        ", ".join(f"{colour} {label(key)}" for colour, key in zip(colours, curves, strict=False))
        + f". A point is the mean of {window} steps. Time is that of a contestant's own steps, the first, "
        "which traces or compiles, included."
    )
    cells = [_cells(*item) for item in found.items()]
    values = {"lead": lead, "note": note, "chart": chart, "heads": _heads(minutes, levels), "rows": cells}
    write_html(path, "benchmark.html", title="Time to quality", **values)
