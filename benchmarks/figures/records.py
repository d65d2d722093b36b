"""Files of records, a line of JSON each -> what the tables show: the last line. Standard library only."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "figures"
BENCHMARK = "benchmark"  # the origin of a line that a benchmark wrote
_NEEDED = {
    "benchmark": str,
    "date": str,
    "machine": dict | None,
    "commit": str | None,
    "command": str,
    "origin": str,
    "rows": dict,
}
_MACHINE = {"processor": str, "cores": int, "bfloat16": list | None}


def last_record(name: str, task: str | None = None, folder: Path | None = None) -> dict:
    """The last record of a file of docs/figures/.

    Args:
      name: that of the file, without `.jsonl`.
      task: of a file with records of several tasks: the `task` of the record; None for files without.
      folder: where it lies; None for docs/figures/.

    Raises:
      ValueError: naming file and line, when there is none, or one of its records is not whole.
    """
    path = (folder or FOLDER) / f"{name}.jsonl"
    if not path.is_file():
        raise ValueError(f"{path} does not exist; measure with --figures_file={path}.")
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path} line {number} is not JSON: {error}") from None
        check_record(records[-1], f"{path} line {number}")
    chosen = [record for record in records if record.get("task") == task]
    if not chosen:
        raise ValueError(f"{path} holds no record{f' of {task}' if task else ''}; measure and append one.")
    return chosen[-1]


def check_record(record, place):
    """Raises ValueError, naming `place`, for a record that lacks what tables and captions need."""
    _require_types(record, _NEEDED, place)
    if record["machine"] is not None:
        _require_types(record["machine"], _MACHINE, f"{place}, machine")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"]):
        raise ValueError(f"{place} has the date {record['date']!r}; expected one such as 2026-11-22.")
    if not record["rows"] or not all(isinstance(row, dict) for row in record["rows"].values()):
        raise ValueError(f"{place} has no rows; expected an object of figures for each contestant.")


def _require_types(values, types, place):
    if not isinstance(values, dict):
        raise ValueError(f"{place} is {str(values)[:80]}; expected an object.")
    for key, kind in types.items():
        if key not in values or not isinstance(values[key], kind):
            raise ValueError(f"{place} has {key}={values.get(key)!r:.80}; expected {kind}.")


def figure(record: dict, row: str, *path: str):
    """One figure of a record, for example `figure(record, "kbert/float32", "medians", "8")`.

    Raises:
      ValueError: when it was not measured.
    """
    value = record["rows"].get(row)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        raise ValueError(
            f"{' '.join((row, *path))} is not among the figures of {record['command']!r}, {record['date']}; "
            f"its rows are {', '.join(record['rows'])}."
        )
    return value
