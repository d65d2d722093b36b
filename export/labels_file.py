"""labels.txt: the names of the labels for clients that read the folder of an export."""

from pathlib import Path

from kbert.files.whole_file import write_text

LABELS_FILE = "labels.txt"


def labels_text(labels: tuple[str, ...]) -> str:
    """One label a line, in id order.

    Raises:
      ValueError: for a label that is more than a line.
    """
    broken = [label for label in labels if label.splitlines() not in ([label], [])]
    if broken:
        raise ValueError(
            f"the label {broken[0]!r} has a line break, so {LABELS_FILE} could not name it; rename the label."
        )
    return "".join(f"{label}\n" for label in labels)


def write_labels(labels: tuple[str, ...], folder: Path):
    """Writes LABELS_FILE, see `labels_text`; nothing for a task without labels."""
    if labels:
        write_text(labels_text(labels), folder / LABELS_FILE)
