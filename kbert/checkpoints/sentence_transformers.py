"""What a sentence-transformers folder says beyond its BERT: where that lies, pooling, normalization, length.

The folder lists its modules in modules.json; each is a folder with a config.json of its own. Read without
the sentence-transformers package; its classes Transformer, Pooling and Normalize are known.
"""

from dataclasses import dataclass
from pathlib import Path

from kbert.files.json_file import read_json_object

MODULES_FILE = "modules.json"
_LENGTH_FILES = ("sentence_bert_config.json", "sentence_roberta_config.json")
# "pooling_mode_<theirs>" of 1_Pooling/config.json -> the mode of kbert's SequencePooling.
_POOLING_MODES = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
}


@dataclass(frozen=True)
class SentenceModules:
    """The modules of a sentence-transformers folder.

    Args:
      encoder_folder: where the Hugging Face files of the encoder lie.
      pooling: a mode of `SequencePooling`.
      normalize: whether the embeddings are brought to length 1.
      max_seq_length: the longest sequence in tokens, or None where the folder leaves it to the encoder.
      do_lower_case: whether texts are lower-cased before the tokenizer sees them.
    """

    encoder_folder: Path
    pooling: str
    normalize: bool
    max_seq_length: int | None
    do_lower_case: bool


def is_sentence_transformers(path) -> bool:
    """Whether `path` is a folder with a modules.json."""
    return (Path(path) / MODULES_FILE).is_file()


def read_sentence_modules(path) -> SentenceModules:
    """Reads modules.json and what it names.

    Raises:
      ValueError: for a module, or an order of modules, that kbert does not have, and for broken files.
    """
    folder = Path(path)
    listed = _read_list(folder / MODULES_FILE)
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in listed]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ValueError(
            f"{folder / MODULES_FILE} lists the modules {', '.join(kinds) or '(none)'}; kbert knows a "
            "Transformer, then a Pooling, then perhaps a Normalize."
        )
    encoder_folder = folder / listed[0]["path"]
    settings = {}
    for name in _LENGTH_FILES:
        if (encoder_folder / name).is_file():
            settings = read_json_object(encoder_folder / name)
    return SentenceModules(
        encoder_folder=encoder_folder,
        pooling=_pooling_mode(folder / listed[1]["path"] / "config.json"),
        normalize="Normalize" in kinds,
        max_seq_length=settings.get("max_seq_length"),
        do_lower_case=bool(settings.get("do_lower_case", False)),
    )


def _read_list(path):
    import json

    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        ordered = sorted(modules, key=lambda module: module["idx"])
        if all(isinstance(module["path"], str) and module["type"] for module in ordered):
            return ordered
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} is broken; expected a list of modules with idx, path and type.")


def _pooling_mode(path):
    settings = read_json_object(path)
    if "pooling_mode" in settings:  # the newer spelling: one word, or several
        chosen = settings["pooling_mode"]
        chosen = [chosen] if isinstance(chosen, str) else list(chosen)
        known = set(_POOLING_MODES.values())
    else:
        chosen = [
            key.removeprefix("pooling_mode_")
            for key, value in settings.items()
            if key.startswith("pooling_mode_") and value
        ]
        known = set(_POOLING_MODES)
    if len(chosen) != 1 or chosen[0] not in known:
        raise ValueError(
            f"{path} pools by {' and '.join(map(str, chosen)) or 'nothing'}; kbert pools by one of "
            f"{', '.join(_POOLING_MODES.values())}."
        )
    return _POOLING_MODES.get(chosen[0], chosen[0])
