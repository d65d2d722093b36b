"""What exports write beside their models: the files' names, and the labels."""

from pathlib import Path

from kbert.files.whole_file import write_text

EXTRA_FOLDER = "assets.extra"  # of a SavedModel: what servers leave alone, but for the warm-up requests
ABOUT_FILE = "kbert.json"  # task, labels, casing and what was measured, for programs
VOCABULARY_FILE = "vocab.txt"
LABELS_FILE = "labels.txt"
MEDIAPIPE, TEXT = "mediapipe", "text"  # what the names of LiteRT files that are asked with texts begin with
_SAVED_MODEL = "saved_model.pb"
WARMUP_FILE = "tf_serving_warmup_requests"  # TensorFlow Serving, docs/saved_model_warmup


def version_folder(path: Path) -> Path | None:
    """The folder of a SavedModel: `path` or the newest version in it. None for anything else."""
    if (path / _SAVED_MODEL).is_file():
        return path
    versions = [file.parent for file in path.glob(f"*/{_SAVED_MODEL}") if file.parent.name.isdecimal()]
    return max(versions, key=lambda folder: int(folder.name), default=None)


def write_labels(labels: tuple[str, ...], folder: Path):
    """Writes LABELS_FILE, one label a line in id order; nothing for a task without labels.

    Raises:
      ValueError: for a label that is more than a line.
    """
    for label in labels:
        if label.splitlines() not in ([label], []):
            raise ValueError(
                f"the label {label!r} has a line break, so {LABELS_FILE} could not name it; rename the label."
            )
    if labels:
        write_text("".join(f"{label}\n" for label in labels), folder / LABELS_FILE)
