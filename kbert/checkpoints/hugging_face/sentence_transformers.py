"""The settings of a sentence-transformers folder: where its BERT is, pooling, normalization, length.

`read_sentence_modules` reads them and `write_sentence_modules` writes them.

The folder lists its modules in modules.json; each is a folder of its own. The package sentence-transformers
is not needed. Its classes Transformer, Pooling and Normalize are known.
"""

from dataclasses import dataclass
from pathlib import Path

from kbert.config.checks import SHORTEST_LENGTH
from kbert.config.pooling_config import PoolingConfig
from kbert.files.json_file import read_json, read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown_name
from kbert.files.path_inside import path_inside
from kbert.files.whole_file import write_json

MODULES_FILE = "modules.json"
_LENGTH_FILES = ("sentence_bert_config.json", "sentence_roberta_config.json")
_PROMPTS_FILE = "config_sentence_transformers.json"
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
    kinds = [module["type"].rsplit(".", 1)[-1] for module in listed]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ValueError(
            f"{folder / MODULES_FILE} lists the modules {shown_name(', '.join(kinds) or '(none)')}; kbert "
            "reads a Transformer, then a Pooling, then optionally a Normalize."
        )
    encoder_folder = path_inside(folder, listed[0]["path"], folder / MODULES_FILE, "folder")
    pooling_folder = path_inside(folder, listed[1]["path"], folder / MODULES_FILE, "folder")
    settings, source = {}, None
    for name in _LENGTH_FILES:
        if (encoder_folder / name).is_file():
            source = encoder_folder / name
            settings = read_json_object(source)
    return SentenceModules(
        encoder_folder=encoder_folder,
        pooling=_pooling_mode(pooling_folder / "config.json"),
        normalize="Normalize" in kinds,
        max_seq_length=json_count(settings, "max_seq_length", source, SHORTEST_LENGTH),
        do_lower_case=json_value(settings, "do_lower_case", bool, source, False),
    )


def read_prompts(path) -> dict:
    """What a folder wants before texts: {"prompts": {"query": "query: "}, "default_prompt_name": "query"}.

    Nothing where it has no prompts.

    Raises:
      ValueError: the prompts are no texts.
    """
    file = Path(path) / _PROMPTS_FILE
    settings = read_json_object(file) if file.is_file() else {}
    prompts = json_value(settings, "prompts", dict, file, {})
    if not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ValueError(f"{file} has prompts that are no texts; expected a text for each name.")
    default = settings.get("default_prompt_name")
    return {"prompts": prompts, "default_prompt_name": default} if prompts else {}


def write_sentence_modules(folder: Path, pooling: PoolingConfig, max_seq_length: int, width: int):
    """Makes a Hugging Face folder one of sentence-transformers.

    Args:
      folder: holds the files of the encoder.
      pooling: how one vector is made of a text's tokens.
      max_seq_length: the longest sequence in tokens.
      width: the encoder's hidden_size.
    """
    kinds = {"Transformer": "", "Pooling": "1_Pooling"}
    if pooling.normalize:
        kinds["Normalize"] = "2_Normalize"
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(kinds.items())
    ]
    modes = {f"pooling_mode_{theirs}": ours == pooling.mode for theirs, ours in _POOLING_MODES.items()}
    (folder / "1_Pooling").mkdir()
    write_json({"word_embedding_dimension": width} | modes, folder / "1_Pooling" / "config.json")
    write_json({"max_seq_length": max_seq_length, "do_lower_case": False}, folder / _LENGTH_FILES[0])
    write_json({"similarity_fn_name": "cosine"}, folder / _PROMPTS_FILE)
    write_json(modules, folder / MODULES_FILE)  # last: with it, the folder is one of sentence-transformers


def _read_list(path):
    try:
        modules = read_json(path) or []
    except ValueError:
        modules = None
    kinds = {"idx": int, "path": str, "type": str}
    if isinstance(modules, list) and all(
        isinstance(module, dict) and all(type(module.get(key)) is kind for key, kind in kinds.items())
        for module in modules
    ):
        return sorted(modules, key=lambda module: module["idx"])
    raise ValueError(f"{path} is broken; expected a list of modules with idx, path and type.")


def _pooling_mode(path):
    settings = read_json_object(path)
    if "pooling_mode" in settings:  # the newer spelling: one word, or several
        chosen = settings["pooling_mode"]
        chosen = [chosen] if isinstance(chosen, str) else json_texts(settings, "pooling_mode", path, [])
        known = set(_POOLING_MODES.values())
    else:
        chosen = [
            key.removeprefix("pooling_mode_")
            for key in settings
            if key.startswith("pooling_mode_") and json_value(settings, key, bool, path, False)
        ]
        known = set(_POOLING_MODES)
    if len(chosen) != 1 or chosen[0] not in known:
        raise ValueError(
            f"{path} pools by {shown_name(' and '.join(chosen) or 'nothing')}; kbert pools by one of "
            f"{', '.join(_POOLING_MODES.values())}."
        )
    return _POOLING_MODES.get(chosen[0], chosen[0])
