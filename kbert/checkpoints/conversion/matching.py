"""Matches a file's names with kbert's: every name is taken, left over with a reason, or an error."""

from dataclasses import dataclass, field

import numpy as np

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.conversion.names import NameRow
from kbert.checkpoints.report import Report
from kbert.files.json_values import shown_name
from kbert.files.stored_tensor import StoredTensor

_EXAMPLES = 4


@dataclass
class Stored:
    """The tensors of a file that is being read.

    Args:
      tensors: name as in the name table -> tensor.
      originals: the same name -> the name in the file, where that differs.
      ignored: name -> why kbert does not need it.
      tied: name -> name of the tensor that it must equal, because kbert has only one of the two.
    """

    tensors: dict[str, StoredTensor]
    originals: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)

    def original(self, name: str) -> str:
        return self.originals.get(name, name)


def match(
    stored: Stored,
    rows: list[NameRow],
    shapes: dict[str, tuple[int, ...]],
    may_be_missing: dict[str, str],
    what: str,
    allowance: Allowance,
    report: Report,
) -> dict[str, StoredTensor]:
    """Finds every variable's tensor, checks all shapes, and accounts for every name on both sides.

    Args:
      stored: the file's tensors.
      rows: the name table of the model at hand; what has no shape is not in it (a projection of embeddings).
      shapes: kbert name -> shape that the config gives it.
      may_be_missing: kbert name of a variable that the file need not have -> what happens then, for the
        report.
      what: what the file should be, for the error message, for example "BertForMaskedLM".
      allowance: names that may stay unmatched.
      report: takes what became of every name.

    Returns:
      kbert name -> float32 tensor in kbert's layout, for every variable that the file has.

    Raises:
      ValueError: for tensors of another shape or type, missing tensors, and tensors that the model does not
        have, unless they are allowed.
    """
    rows = [row for row in rows if row.kbert in shapes]
    by_outside = {row.outside: row for row in rows}
    found: dict[str, StoredTensor] = {}
    wrong, homeless = [], []
    for name, tensor in stored.tensors.items():
        original = stored.original(name)
        row = by_outside.get(name)
        if name in stored.ignored:
            report.left_over.append((original, stored.ignored[name]))
        elif name in stored.tied:
            continue  # compared with its twin after all others have been found
        elif row is None:
            if original in allowance:
                report.left_over.append((original, "kbert's model has no variable for it; allowed"))
            else:
                homeless.append(original)
        else:
            stands = tensor.shape[::-1] if row.transposed else tensor.shape
            if stands != shapes[row.kbert] or not tensor.is_float:
                if original in allowance:
                    report.left_over.append((original, f"{tensor.dtype} of shape {tensor.shape}; allowed"))
                else:
                    expected = shapes[row.kbert][::-1] if row.transposed else shapes[row.kbert]
                    wrong.append(
                        f"{shown_name(original)} is {tensor.dtype} of shape {tensor.shape}, "
                        f"not float of shape {expected}"
                    )
                continue
            place = f"{report.path}: {shown_name(original)}"
            found[row.kbert] = tensor.as_finite_float32(place, row.transposed)
            report.taken.append((original, row.kbert, _how(tensor, row.transposed)))
    _refuse(report.path, wrong, f"shapes or types that do not fit the config ({what})", "config and weights")
    missing = _missing(stored, rows, found, may_be_missing, allowance, report)
    if missing:
        raise ValueError(
            f"{report.path} has no tensors for {len(missing)} variables of {what}: "
            f"{_some(missing)}; use the complete checkpoint, or pass --allow_unmatched with their names to "
            "have them initialised."
        )
    if homeless:
        raise ValueError(
            f"{report.path} holds {len(homeless)} tensors that {what} does not have: "
            f"{_some(homeless)}; if they are not needed, pass --allow_unmatched with their names or globs."
        )
    _check_tied(stored, by_outside, found, allowance, report)
    return found


def _missing(stored, rows, found, may_be_missing, allowance, report):
    missing = []
    for row in rows:
        if row.kbert in found:
            continue
        if row.kbert in may_be_missing:
            report.not_in_file.append((row.kbert, may_be_missing[row.kbert]))
        elif row.outside in allowance or row.kbert in allowance or _left(stored, row, report):
            report.not_in_file.append((row.kbert, "initialised; allowed"))
        else:
            missing.append(row.outside)
    known = {row.kbert for row in rows}
    report.not_in_file.extend((name, how) for name, how in may_be_missing.items() if name not in known)
    return missing


def _left(stored, row, report):
    """Whether this row's tensor was there and was left out by allowance."""
    return any(name == stored.original(row.outside) for name, _ in report.left_over)


def _check_tied(stored, by_outside, found, allowance, report):
    for name, twin in stored.tied.items():
        if name not in stored.tensors:
            continue
        tensor, original = stored.tensors[name], stored.original(name)
        kept = found.get(by_outside[twin].kbert) if twin in by_outside else None
        if kept is None:
            report.left_over.append((original, f"a copy of {twin}, which was not taken"))
        elif tensor.shape == kept.shape and _equal(tensor, kept, f"{report.path}: {original}"):
            report.left_over.append((original, f"equal to {stored.original(twin)}, number for number"))
        elif original in allowance:
            report.left_over.append((original, f"differs from {stored.original(twin)}; allowed"))
        else:
            raise ValueError(
                f"{report.path}: {original} differs from {stored.original(twin)}, but kbert's masked-LM head "
                "has one tensor for both; to use the second for both, pass "
                f"--allow_unmatched={original}."
            )


def _equal(tensor, kept, what):
    return tensor.is_float and np.array_equal(tensor.as_finite_float32(what).read(), kept.read())


def _how(tensor, transposed):
    how = "transposed" if transposed else "as it is"
    if tensor.dtype == "float32":
        return how
    return f"{how}, {tensor.dtype} {'rounded' if tensor.dtype == 'float64' else 'converted'} to float32"


def _refuse(path, wrong, what, pair):
    if wrong:
        raise ValueError(f"{path} has {what}: {_joined(wrong, '; ')}; use {pair} of one model.")


def _some(names):
    """The first few names, and how many more there are."""
    return _joined([shown_name(name) for name in names[:_EXAMPLES]] + names[_EXAMPLES:], ", ")


def _joined(parts, separator):
    more = len(parts) - _EXAMPLES
    return separator.join(parts[:_EXAMPLES]) + (f" and {more} more" if more > 0 else "")
