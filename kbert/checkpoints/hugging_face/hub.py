"""`hf://org/name@revision`: downloads a model of the Hugging Face hub into a folder on this machine.

This uses the package huggingface_hub, an optional extra, with its cache and its environment variables:
HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_TOKEN, HF_ENDPOINT.
"""

import re
from pathlib import Path

from kbert.extras import require

SCHEME = "hf://"
_NAME = re.compile(r"hf://(?P<repository>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?")

# Only files that kbert reads; a model's repository often holds many others.
_SMALL_FILES = (
    "config.json",
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
    # sentence-transformers
    "modules.json",
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "?_Pooling/config.json",
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
_WEIGHTS = (
    (
        "model.safetensors",
        "model.safetensors.index.json",
        "model-*-of-*.safetensors",
        "model.weights.h5",
        "task.weights.h5",
    ),
    ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"),
    ("tf_model.h5", "tf_model.h5.index.json", "tf_model-*-of-*.h5"),
    ("bert_model.ckpt.*",),
)


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
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name} is not a model's name; expected hf://org/name or hf://org/name@revision.")
    require("hub", name)
    import huggingface_hub
    from huggingface_hub import errors

    repository, revision = found["repository"], found["revision"]
    asked_for = _SMALL_FILES
    try:
        for weights in _WEIGHTS:
            asked_for = (*asked_for, *weights)
            folder = huggingface_hub.snapshot_download(
                repository, revision=revision, allow_patterns=list(asked_for)
            )
            if _holds_any(Path(folder), weights):
                break
    except errors.HFValidationError as error:
        raise ValueError(f"{name} is not a model's name: {_one_line(error)}.") from None
    except errors.GatedRepoError:
        raise ValueError(
            f"{name} is gated: accept its terms on its page, then run `hf auth login` or set HF_TOKEN."
        ) from None
    except errors.RepositoryNotFoundError:
        raise ValueError(
            f"{name}: the hub has no model {repository}, or it is private; check the name, or run `hf auth "
            "login`."
        ) from None
    except errors.RevisionNotFoundError:
        raise ValueError(
            f"{name}: the model has no revision {revision!r}; give a branch, tag or commit."
        ) from None
    except errors.LocalEntryNotFoundError as error:
        raise ValueError(
            f"{name} is not in the cache ({huggingface_hub.constants.HF_HUB_CACHE}) and could not be "
            f"downloaded ({_one_line(error.__cause__ or error)}); check the network, unset "
            "HF_HUB_OFFLINE, or give a folder."
        ) from None
    except (OSError, errors.HfHubHTTPError) as error:
        raise ValueError(f"{name} could not be downloaded ({_one_line(error)}); try again.") from None
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{name} holds none of the files of a checkpoint that kbert reads.")
    return folder


def is_complete(folder: Path) -> bool:
    """Whether a folder has a config and weights; a cache may hold a model's tokenizer alone."""
    configs, weights = ("config.json", "bert_config.json"), [name for names in _WEIGHTS for name in names]
    return _holds_any(folder, configs) and _holds_any(folder, weights)


def _holds_any(folder, patterns):
    return any(found for pattern in patterns for found in folder.glob(pattern))


def _one_line(error):
    return " ".join(str(error).split())[:200].rstrip(".")
