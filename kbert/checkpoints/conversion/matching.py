"""Matches a file's names with kbert's: every name is taken, left over with a reason, or an error."""

import math
from dataclasses import dataclass, field

import numpy as np

from kbert.checkpoints.conversion.names import NameRow, rows
from kbert.checkpoints.model_variables import part_name
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.files.json_values import first_few, shown_name
from kbert.files.stored_tensor import StoredTensor
from kbert.heads.parts import POOLER
from kbert.tasks import TASKS

_EXAMPLES = 4


@dataclass
class Stored:
    """The tensors of a file that is being read.

    Args:
      tensors: name as in the name table -> tensor.
      originals: the same name -> the name in the file, where that differs.
      ignored: name -> why kbert does not need it.
      tied: name -> name of the tensor that it must equal, because kbert has only one of the two.
      as_in_keras: whether kernels stand as kbert's, (inputs, outputs), whatever the name table says.
    """

    tensors: dict[str, StoredTensor]
    originals: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    as_in_keras: bool = False

    def original(self, name: str) -> str:
        return self.originals.get(name, name)


def match(
    stored: Stored,
    table: dict[str, tuple[NameRow, ...]],
    encoder: EncoderConfig,
    shapes: dict[str, tuple[int, ...]],
    may_be_missing: dict[str, str],
    what: str,
    report: Report,
) -> dict[str, StoredTensor]:
    """Finds every variable's tensor, checks all shapes, and accounts for every name on both sides.

    Args:
      stored: the file's tensors.
      table: the name table of the format.
      encoder: the shape of the model's encoder.
      shapes: the model's variables, see `model_shapes`.
      may_be_missing: kbert name of a variable that the file need not have -> what happens then, for the
        report.
      what: what the file should be, for the error message, for example "BertForMaskedLM".
      report: takes what became of every name, and knows which may stay unmatched.

    Returns:
      kbert name -> float32 tensor in kbert's layout, for every variable that the file has.

    Raises:
      ValueError: for tensors of another shape or type, missing tensors, and tensors that the model does not
        have, unless they are allowed.
    """
    parts = [part for part in dict.fromkeys(map(part_name, shapes)) if part != "body"]
    # What has no shape is not in this model (a projection of embeddings).
    table_rows = [row for row in rows(table, parts, encoder.num_hidden_layers) if row.kbert in shapes]
    by_outside = {row.outside: row for row in table_rows}
    matched: dict[str, StoredTensor] = {}
    wrong, unknown = [], []
    for name, tensor in stored.tensors.items():
        original = stored.original(name)
        row = by_outside.get(name)
        if name in stored.ignored:
            report.left_over.append((original, stored.ignored[name]))
        elif name in stored.tied:
            continue  # compared with its twin after all others have been matched
        elif row is None:
            if report.allows(original):
                report.left_over.append((original, "kbert's model has no variable for it; allowed"))
            else:
                unknown.append(shown_name(original))
        else:
            transposed = row.transposed and not stored.as_in_keras
            expected = shapes[row.kbert][::-1] if transposed else shapes[row.kbert]
            if tensor.shape != expected or not tensor.is_float:
                if report.allows(original):
                    report.left_over.append((original, f"{tensor.dtype} of shape {tensor.shape}; allowed"))
                else:
                    wrong.append(
                        f"{shown_name(original)} is {tensor.dtype} of shape {tensor.shape}, "
                        f"not float of shape {expected}"
                    )
                continue
            matched[row.kbert] = tensor.as_float32(transposed, f"{report.path}: {shown_name(original)}")
            report.taken.append((original, row.kbert, _how(tensor, transposed)))
    if wrong:
        raise ValueError(
            f"{report.path} has shapes or types that do not fit the config ({what}): "
            f"{first_few(wrong, _EXAMPLES, '; ')}; use config and weights of one model."
        )
    missing = _missing(table_rows, stored, matched, may_be_missing, report)
    if missing:
        raise ValueError(
            f"{report.path} has no tensors for {len(missing)} variables of {what}: "
            f"{first_few(missing, _EXAMPLES)}; use the complete checkpoint, or pass allow_unmatched with "
            "their names to have them initialised."
        )
    if unknown:
        raise ValueError(
            f"{report.path} holds {len(unknown)} tensors that {what} does not have: "
            f"{first_few(unknown, _EXAMPLES)}; if they are not needed, pass allow_unmatched with their names "
            "or globs."
        )
    _check_tied(stored, by_outside, matched, report)
    return matched


def _missing(table_rows, stored, matched, may_be_missing, report):
    """The other format's names of variables that the file should have; the report takes those it need not."""
    missing, left_over = [], {name for name, _ in report.left_over}
    for row in table_rows:
        if row.kbert in matched:
            continue
        is_left_over = stored.original(row.outside) in left_over
        if row.kbert in may_be_missing:
            report.not_in_file.append((row.kbert, may_be_missing[row.kbert]))
        elif is_left_over or report.allows(row.outside) or report.allows(row.kbert):
            report.not_in_file.append((row.kbert, "initialised; allowed"))
        else:
            missing.append(row.outside)
    known = {row.kbert for row in table_rows}
    report.not_in_file.extend((name, how) for name, how in may_be_missing.items() if name not in known)
    return missing


def _check_tied(stored, by_outside, matched, report):
    for name, twin in stored.tied.items():
        if name not in stored.tensors:
            continue
        tensor, original = stored.tensors[name], stored.original(name)
        kept = matched.get(by_outside[twin].kbert) if twin in by_outside else None
        if kept is None:
            report.left_over.append((original, f"a copy of {twin}, which was not taken"))
        elif _are_equal(tensor, kept, f"{report.path}: {original}"):
            report.left_over.append((original, f"equal to {stored.original(twin)}, number for number"))
        elif report.allows(original):
            report.left_over.append((original, f"differs from {stored.original(twin)}; allowed"))
        else:
            raise ValueError(
                f"{report.path}: {original} differs from {stored.original(twin)}, but kbert's masked-LM head "
                "has one tensor for both; to use the second for both, pass "
                f"allow_unmatched={original}."
            )


def _are_equal(tensor, kept, what):
    comparable = tensor.shape == kept.shape and tensor.is_float
    return comparable and np.array_equal(tensor.as_float32(what=what).read(), kept.read())


def _how(tensor, transposed):
    how = "transposed" if transposed else "as it is"
    if tensor.dtype == "float32":
        return how
    return f"{how}, {tensor.dtype} {'rounded' if tensor.dtype == 'float64' else 'converted'} to float32"


def guess_task(
    stored: Stored, table: dict[str, tuple[NameRow, ...]], problem_type: str | None, report: Report
) -> tuple[str, int, set[str]]:
    """What a model is for, in a format whose files do not say it.

    Args:
      stored: the tensors.
      table: the names in this format.
      problem_type: what its labels are, where a config says it: the tensors do not tell several from one.
      report: takes a note.

    Returns:
      (the task, the number of its labels or 0, its heads), according to the heads in the file.
    """
    names = stored.tensors
    heads = {part for part in table if table[part][0].outside in names} - {"body", POOLER.name}
    for fine_tuned in ({"span"}, {"classification"}):  # pretraining heads may still be in the file
        heads = fine_tuned if fine_tuned <= heads else heads
    try:
        task = TASKS.find_by_parts(heads)
    except ValueError:
        task = TASKS.find_by_parts(heads | {POOLER.name})
    num_labels = 0
    if TASKS[task].checkpoint.has_labels:
        kernel = table[next(iter(heads))][0]
        num_labels = names[kernel.outside].shape[0 if kernel.transposed else -1]
        problem_type = problem_type or ("regression" if num_labels == 1 else None)
        task = TASKS.with_problem_type(task, problem_type)
    report.note(f"heads: {', '.join(sorted(heads)) or 'none'}; read as kbert's task {task!r}")
    return task, num_labels, heads


def join_attention_heads(name: str, tensor: StoredTensor) -> StoredTensor:
    """A weight of attention without the axis of the heads: the order of the numbers is that of kbert.

    Keras's attention has kernels (hidden, heads, size) and, for the output, (heads, size, hidden).
    """
    if len(tensor.shape) == 3:
        first, middle, last = tensor.shape
        is_output = name.endswith("attention_output/kernel")
        return tensor.reshaped((first * middle, last) if is_output else (first, middle * last))
    if name.endswith("/bias"):
        return tensor.reshaped((math.prod(tensor.shape),))
    return tensor
