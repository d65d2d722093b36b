"""Checks before a version is loaded that the newest TensorFlow Serving knows all its ops."""

import pathlib

from ...gate.op_gate import check_servable, list_ops
from ...gate.server_releases import RELEASES

_MAX_PLACES_SHOWN = 3


def check_known_ops(folder: pathlib.Path) -> None:
    """Raises if no stock server could run the SavedModel of `folder`.

    `kbert export` compares with all servers in use, of which the oldest decides. Here the installed
    TensorFlow runs the model, whatever servers it was exported for, so only the newest list counts.

    Raises:
        ValueError: naming every unknown op and where it occurs, or functions that must be compiled.
    """
    newest, ops = RELEASES[-1], list_ops(str(folder))
    known = newest.ops
    unknown = [op for op in ops if op not in known]
    if unknown:
        lines = "\n".join(f"  {op}: in {', '.join(ops[op][:_MAX_PLACES_SHOWN])}" for op in unknown)
        raise ValueError(
            f"{folder} holds {len(unknown)} of {len(ops)} ops that no known TensorFlow Serving has:\n"
            f"{lines}\nExpected only ops of TensorFlow Serving {newest.name} with TF-Text {newest.text}, the "
            "newest that kbert knows. Build the model without these ops and export it again; see "
            "docs/serving.md."
        )
    check_servable(str(folder), newest.name)
