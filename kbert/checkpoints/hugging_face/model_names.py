"""Models by the names that everybody knows: from the hub's cache, then from the hub."""

import os
import re
from pathlib import Path

from kbert.checkpoints.hugging_face import hub

# Names without an organization. The hub itself sends the first group on to its new places.
_SHORT_NAMES = {
    "google-bert": (
        "bert-base-uncased bert-base-cased bert-large-uncased bert-large-cased bert-base-chinese "
        "bert-base-multilingual-cased bert-base-multilingual-uncased bert-base-german-cased "
        "bert-large-uncased-whole-word-masking bert-large-cased-whole-word-masking "
        "bert-large-uncased-whole-word-masking-finetuned-squad "
        "bert-large-cased-whole-word-masking-finetuned-squad"
    ),
    "distilbert": (
        "distilbert-base-uncased distilbert-base-cased distilbert-base-multilingual-cased "
        "distilbert-base-uncased-finetuned-sst-2-english distilbert-base-cased-distilled-squad "
        "distilbert-base-uncased-distilled-squad"
    ),
    "sentence-transformers": (
        "all-MiniLM-L6-v2 all-MiniLM-L12-v2 all-MiniLM-L12-v1 all-MiniLM-L6-v1 paraphrase-MiniLM-L3-v2 "
        "paraphrase-MiniLM-L6-v2 multi-qa-MiniLM-L6-cos-v1 msmarco-MiniLM-L6-cos-v5 "
        "bert-base-nli-mean-tokens"
    ),
}
_PLACES = {name: f"{owner}/{name}" for owner, names in _SHORT_NAMES.items() for name in names.split()}
# Full names that begin so are downloaded without the `hf://` in front. Any other org/name may be a misspelt
# path: it is looked for in the cache, but no server is told about it.
_KNOWN = (*(f"{owner}/" for owner in _SHORT_NAMES), "google/bert_uncased_", "google/electra-")
_FORM = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def find_model(name: str) -> Path | None:
    """The folder of a model that is named as the hub names it: from the hub's cache, or downloaded.

    Args:
      name: such as "bert-base-uncased" or "google/bert_uncased_L-2_H-128_A-2"; no file or folder on disk.

    Returns:
      A folder in the cache; None for what is no such name, or for a name that is neither known nor cached.

    Raises:
      ValueError: for a known name that is not in the cache and cannot be downloaded.
    """
    if not _FORM.fullmatch(name):
        return None
    repository = _PLACES.get(name, name)
    for cached in (repository, name):  # older programs keep bert-base-uncased under its short name
        if folder := _cached(cached):
            return folder
    if not repository.startswith(_KNOWN):
        return None
    try:
        return hub.download(f"{hub.SCHEME}{repository}")
    except ValueError as error:
        raise ValueError(f"{name} is no file or folder here; {error}") from None


def casing_of(name: str) -> bool | None:
    """`do_lower_case` where only the name of a model says it, as with Google's small BERTs; else None."""
    return True if name.startswith("google/bert_uncased_") else None


def cache_folder() -> Path:
    """Where huggingface_hub keeps models, by the same environment variables."""
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", os.path.join(caches, "huggingface"))
    given = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return Path(given or os.path.join(home, "hub")).expanduser()


def _cached(repository):
    """The snapshot of a model in the cache, if it has a config and weights; None else.

    The layout is models--ORG--NAME/snapshots/COMMIT/, with the commit of the main branch in refs/main
    (huggingface.co/docs/huggingface_hub/guides/manage-cache).
    """
    folder = cache_folder() / "--".join(["models", *repository.split("/")])
    main = folder / "refs" / "main"
    if main.is_file():
        snapshots = [folder / "snapshots" / main.read_text(encoding="utf-8").strip()]
    else:
        snapshots = sorted((folder / "snapshots").glob("*"))
    # Several snapshots and no main branch: nobody knows which one is meant.
    return snapshots[0] if len(snapshots) == 1 and hub.is_complete(snapshots[0]) else None
