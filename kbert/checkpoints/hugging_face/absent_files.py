"""Files that a folder lacks: the model has none, or they were not downloaded or copied."""

from pathlib import Path

from kbert.checkpoints import GOOGLE, HUGGING_FACE, KERAS_HUB, MODEL_GARDEN, TF_HUB
from kbert.checkpoints.report import Report
from kbert.cli.warn_once import warn_once

_POOLED = 'made for vectors of texts give "pooled_output" (encoder.with_outputs)'
# Format -> what a checkpoint of it does not say of vectors, and who says it.
_UNSAID = {
    HUGGING_FACE: (
        "was read without a modules.json that says how vectors are made",
        "A model of sentence-transformers has one, which a cache that others filled may lack: get it whole, "
        "by hf://ORG/NAME",
    ),
    TF_HUB: (
        "is of TF Hub, whose files do not say how vectors are made",
        f"LaBSE and others {_POOLED}",
    ),
    MODEL_GARDEN: (
        "is of Model Garden, whose files do not say how vectors are made",
        f"LaBSE and others {_POOLED}",
    ),
    GOOGLE: (
        "is in Google's format, which does not say how vectors are made",
        f'SimBERT and others {_POOLED}, SimCSE that of [CLS] (pooling="cls")',
    ),
    KERAS_HUB: (
        "is a preset of KerasHub, where a BertTextEmbedder alone says how vectors are made",
        "Take the preset of the embedder, where there is one",
    ),
}


def note_absence(file: Path, consequence: str, report: Report, is_common: bool = False):
    """Notes that a file is not there, and warns where the model may have it.

    Those that the hub does not have need no word.

    Args:
      file: where it would lie.
      consequence: what is taken in its place.
      report: takes the note.
      is_common: whether whole models lack it too; then a folder outside the cache is not warned of.
    """
    if hub_lacks(file):
        return
    snapshot, sentence = _snapshot(file), f"{file} is not there, so {consequence}"
    report.note(sentence)
    if snapshot:
        name = snapshot.parents[1].name.removeprefix("models--").replace("--", "/")
        warn_once(
            f"{sentence}; the cache may hold a part of the model. Get the rest once with a network, by "
            f"hf://{name}."
        )
    elif not is_common:
        warn_once(f"{sentence}; if this is a copy, copy all files of the folder.")


def hub_lacks(file: Path) -> bool:
    """Whether a cache knows that the hub does not have a file.

    huggingface_hub brings files one by one, and marks in `.no_exist` those that were asked for in vain
    (huggingface.co/docs/huggingface_hub/guides/manage-cache).
    """
    snapshot = _snapshot(file)
    marks = snapshot and snapshot.parents[1] / ".no_exist"
    return bool(marks and (marks / _real(file).relative_to(snapshot.parent)).is_file())


def warn_of_mean(source, origin: str | None, taker: str, mend: str):
    """Warns where vectors are made of a checkpoint, or a run made of one, which does not say how.

    Args:
      source: what the user named.
      origin: the format in which the model came to kbert; others need no word.
      taker: what makes them.
      mend: what a user of a plain encoder does instead.
    """
    if origin in _UNSAID:
        what, where = _UNSAID[origin]
        warn_once(
            f"{source} {what}, so {taker} takes the mean of all tokens. {where}; for a plain encoder {mend}."
        )


def _snapshot(file):
    """The folder of a commit in huggingface_hub's cache that a file lies in, or None."""
    return next(
        (
            folder
            for folder in _real(file).parents
            if folder.parent.name == "snapshots" and folder.parents[1].name.startswith("models--")
        ),
        None,
    )


def _real(file):
    return file.parent.resolve() / file.name  # the folder may be a link; in a cache files are, to blobs
