"""What exports write beside their models: the files' names, and the labels."""

from pathlib import Path

from kbert.files.whole_file import write_text

EXTRA_FOLDER = "assets.extra"  # of a SavedModel: what servers leave alone, but for the warm-up requests
ABOUT_FILE = "kbert.json"  # task, labels, casing and what was measured, for programs
LABELS_FILE = "labels.txt"
MEDIAPIPE, TEXT = "mediapipe", "text"  # what the names of LiteRT files that are asked with texts begin with
WARMUP_FILE = "tf_serving_warmup_requests"  # TensorFlow Serving, docs/saved_model_warmup


def broken_label(labels: tuple[str, ...]) -> str | None:
    """The first label that is more than a line, for whatever reads LABELS_FILE; None where each is one."""
    return next((label for label in labels if label.splitlines() not in ([label], [])), None)


def write_labels(labels: tuple[str, ...], folder: Path):
    """Writes LABELS_FILE, one label a line in id order; nothing for a task without labels, or with one of
    several lines, which is said."""
    if (label := broken_label(labels)) is not None:
        from absl import logging  # which programs that only ask a file need not have

        logging.warning(
            "%s is left out: the label %r has a line break. %s names all labels.",
            LABELS_FILE,
            label,
            ABOUT_FILE,
        )
    elif labels:
        write_text("".join(f"{label}\n" for label in labels), folder / LABELS_FILE)
