"""docs/signatures.md as data: what it says of every task's signatures, and its requests."""

import json
import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "signatures.md"
_TENSOR = re.compile(r"`(\w+)` (string|float32|int32|int64|bool) \[([\w, ]*)\]")
_NAME = re.compile(r"`(\w+)`")


def _rows(header):
    """The cells of the rows below a table's header line."""
    lines = iter(_PAGE.read_text(encoding="utf-8").splitlines())
    next(line for line in lines if line == header)
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _tensors(cell):
    """name -> (dtype, number of axes)."""
    return {name: (dtype, len(axes.split(",")) if axes else 0) for name, dtype, axes in _TENSOR.findall(cell)}


def signatures_of(task: str) -> dict[str, tuple[dict, dict]]:
    """signature -> (inputs, outputs), each name -> (dtype, rank); token ids are not among the inputs."""
    found, tasks = {}, []
    for first, signatures, inputs, outputs in _rows("| task | signature | inputs | outputs |"):
        tasks = _NAME.findall(first) or tasks
        if task in tasks:
            found |= {name: (_tensors(inputs), _tensors(outputs)) for name in _NAME.findall(signatures)}
    return found


def requests() -> list[dict]:
    """The requests, as JSON."""
    return [json.loads(request.strip("`")) for _, request in _rows("| task | request |")]
