"""Rows of a labelled file that are there twice, and texts that stand under several labels."""

from collections.abc import Callable, Sequence

from kbert.files.json_values import shown

_SHARE = 10
_SHOWN = 60  # characters of a text


def as_read(value, fold: Callable[[str], str] = str.casefold):
    """A text as a person and an uncased model read it: without capitals, a blank for each stretch of blanks
    and line ends; a tuple with its texts so. Another value is itself.

    Args:
      value: what an example holds.
      fold: what makes capitals equal to small letters; `str` for a comparison that tells them apart.
    """
    if isinstance(value, tuple):
        parts = [as_read(part, fold) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    if not isinstance(value, str):
        return value
    read = fold(" ".join(value.split()))
    return value if read == value else read  # a copy of each text would fill the memory


def shared_rows(train: Sequence[tuple], dev: Sequence[tuple]) -> str | None:
    """A sentence on examples for evaluation that are trained on as well; None for a tenth of them at most."""
    read_train, read_dev = (
        [hash((as_read(tuple(texts)), label)) for *texts, label in examples] for examples in (train, dev)
    )
    number = sum(map({*read_train}.__contains__, read_dev))
    if number * _SHARE <= len(dev):
        return None
    return (
        f"{number:,} of {len(dev):,} examples for evaluation are also training examples, blanks and capitals "
        "apart: scores on them say little about other texts"
    )


def repetitions(examples: Sequence[tuple]) -> tuple[str | None, str | None]:
    """Sentences about a training file, before the training: (about repeated rows, about contradicting ones).

    Args:
      examples: tuples of texts, and at the end the label. Different numbers for the same texts are no
        contradiction, because people who rate texts differ, and so do teachers, who give several. Blanks
        tell no texts apart, capitals do: they may be what a label is about.

    Returns:
      A sentence each, or None where there is nothing of the kind.
    """
    labels: dict[tuple, dict] = {}  # texts -> their labels, each once
    for *texts, label in examples:
        labels.setdefault(as_read(tuple(texts), str), {})[label] = None
    repeated = len(examples) - sum(map(len, labels.values()))
    duplicates = f"{repeated:,} of {len(examples):,} rows repeat an earlier one" if repeated else None
    several = [texts for texts, known in labels.items() if len(known) > 1]
    if not several or _are_numbers(examples[0][-1]):
        return duplicates, None
    known = (list(label) if isinstance(label, tuple) else label for label in labels[several[0]])
    first = " and ".join(sorted(map(shown, known))[:3])
    return duplicates, (
        f"{len(several):,} text(s) have several labels or answers, as {several[0][0][:_SHOWN]!r} has {first}"
        "; if these are slips, mend them: the model cannot learn both"
    )


def _are_numbers(label) -> bool:
    numbers = label if isinstance(label, tuple) else (label,)
    return bool(numbers) and all(isinstance(number, float | None) for number in numbers)
