"""What a script prints last: a small table for people, or with --json one line for programs."""

import json
import re
import textwrap
from collections.abc import Mapping
from numbers import Integral, Real

from absl import flags

from kbert.cli.flags import WIDTH
from kbert.runs.metrics_file import is_calibration, json_ready

_GAP = 2
_SMALL = 1e-3  # below, four digits after the point would show nothing


def define_json_flag():
    """--json."""
    flags.DEFINE_bool(
        "json", False, "Print the result as one line of JSON, and nothing else, on standard output."
    )


def print_result(result, shown: Mapping[str, object], *tables: str):
    """Prints the tables and then the closing table; with --json the result alone.

    Args:
      result: what --json prints, ready for JSON but for infinity and NaN, which become null.
      shown: name -> value of the closing table: what matters most, then files and pages.
      *tables: larger tables before it; an empty one is left out.
    """
    if flags.FLAGS.json:
        print(json.dumps(json_ready(result), allow_nan=False))
        return
    print("\n\n".join([*filter(None, tables), closing_table(shown)]))


def closing_table(values: Mapping[str, object]) -> str:
    """Names and values as lines of at most WIDTH columns.

    Args:
      values: name -> number, text or path. A path stands in one piece, because people copy it; where it is
        longer than the line, the line is longer.

    Returns:
      The lines. Floats have four digits after the point, small ones three digits in all; None is a dash.
    """
    indent = max(map(len, values), default=0) + _GAP
    lines = []
    for name, value in values.items():
        text, width = shown_value(value), max(WIDTH - indent, 1)
        folded = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        lines.append(f"{name:<{indent}}{folded[0] if folded else '–'}")
        lines += [" " * indent + line for line in folded[1:]]
    return "\n".join(lines)


def plain_metrics(metrics: Mapping[str, object] | None) -> dict[str, object]:
    """The metrics that are single numbers, texts or nothing: no lists, tables, temperature and thresholds."""
    plain = {name: value for name, value in (metrics or {}).items() if not is_calibration(name)}
    return {name: value for name, value in plain.items() if value is None or isinstance(value, Real | str)}


def chosen_settings(metrics: Mapping[str, object] | None, is_kept: bool = False) -> dict[str, str]:
    """A line about the temperature and thresholds that are best for the evaluated data; {} without any.

    Args:
      metrics: of an evaluation.
      is_kept: whether they were kept with the run.
    """
    chosen = {name: v for name, v in (metrics or {}).items() if re.fullmatch("chosen_(temp|thresh).*", name)}
    if not chosen:
        return {}
    words = [
        f"{name.removeprefix('chosen_')} {'by label' if isinstance(value, list) else shown_value(value)}"
        for name, value in chosen.items()
    ]
    state = "kept with the run" if is_kept else "not applied (kbert evaluate --keep_chosen applies it)"
    return {"chosen": f"{', '.join(words)}: {state}"}


def shown_value(value) -> str:
    """A value as people read it: 0.9040, 1,821, yes."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        number = float(value)
        return f"{number:.3g}" if 0 < abs(number) < _SMALL else f"{number:,.4f}"
    return str(value)
