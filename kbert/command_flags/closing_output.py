"""What a script prints last: a small table for people, or with --json one line for programs."""

import json
from collections.abc import Mapping

from absl import flags

from kbert.reports.closing_table import closing_table
from kbert.runs.metrics_file import json_ready


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
