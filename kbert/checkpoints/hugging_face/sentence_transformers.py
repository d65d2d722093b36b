"""The settings of a sentence-transformers folder: where its BERT is, prompts, pooling, normalization, length.

`read_sentence_modules` reads them and `write_sentence_modules` writes them.

The folder lists its modules in modules.json; each is a folder of its own. The package sentence-transformers
is not needed. Its classes Transformer, Pooling and Normalize are known; a cross-encoder has the first alone.
"""

from dataclasses import dataclass
from pathlib import Path

from kbert.checkpoints import HUGGING_FACE
from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.report import Report
from kbert.config.checks import SHORTEST_LENGTH
from kbert.config.pooling_config import JOIN, POOLINGS, PoolingConfig
from kbert.files.json_file import read_json, read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown, shown_name
from kbert.files.path_inside import path_inside
from kbert.files.whole_file import write_json

MODULES_FILE = "modules.json"
LENGTH_FILES = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
SENTENCE_FILE = "config_sentence_transformers.json"
# "pooling_mode_<theirs>" of 1_Pooling/config.json -> the mode of kbert's SequencePooling, in the order in
# which several stand behind each other.
_POOLING_MODES = {
    "cls_token": "cls",
    "max_tokens": "max",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}
_NEWER_MODES = {"mean_sqrt_len_tokens": "mean_sqrt_len"}  # the words of `pooling_mode` that are others here
_OWN_CODE = "sentence_transformers."  # where the classes of its modules stand
_CROSS_ENCODER = "CrossEncoder"
_FAMILIES = ("SentenceTransformer", _CROSS_ENCODER)
# What a family of models has instead of one vector, for those that kbert does not read.
_OTHER_FAMILIES = {
    "SparseEncoder": "a weight for each word of the vocabulary (SPLADE)",
    "MultiVectorEncoder": "a vector for each token (ColBERT)",
}
# What the Transformer module gives, for each of the tasks that kbert has.
_GIVEN = {
    "feature-extraction": ("last_hidden_state", "token_embeddings"),
    "sequence-classification": ("logits", "scores"),
}
_VECTOR = "sentence_embedding"


@dataclass(frozen=True)
class SentenceModules:
    """The modules of a sentence-transformers folder.

    Args:
      encoder_folder: where the Hugging Face files of the encoder lie.
      pooling: a mode of `SequencePooling`; None for a cross-encoder.
      normalize: whether the embeddings are brought to length 1.
      max_seq_length: the longest sequence in tokens, or None where the folder leaves it to the encoder.
      do_lower_case: whether texts are lower-cased before the tokenizer sees them.
      further: what else `PoolingConfig` has: prompts, the numbers that are kept, the similarity.
      width: the length of a token's vector; None where the folder does not say it.
      activation: the class by which a cross-encoder makes a score of its output, as
        config_sentence_transformers.json says it.
    """

    encoder_folder: Path
    pooling: str | None
    normalize: bool
    max_seq_length: int | None
    do_lower_case: bool
    further: dict
    width: int | None = None
    activation: str | None = None

    @property
    def pooling_config(self) -> PoolingConfig | None:
        """The `PoolingConfig`, without `prompt_lengths`; None for a cross-encoder."""
        return None if self.pooling is None else PoolingConfig(self.pooling, self.normalize, **self.further)


def is_sentence_transformers(path) -> bool:
    """Whether `path` is a folder with a modules.json."""
    return (Path(path) / MODULES_FILE).is_file()


def read_sentence_modules(path, report: Report | None = None) -> SentenceModules:
    """Reads modules.json and what it names.

    Args:
      path: the folder.
      report: takes notes, and knows what is allowed.

    Raises:
      ValueError: for a module, or an order of modules, that kbert does not have, for settings that it does
        not follow, and for broken files.
    """
    folder, report = Path(path), report or Report(HUGGING_FACE, str(path))
    listed = _read_list(folder / MODULES_FILE)
    for module in listed:
        check_keys(MODULES_FILE, module, folder / MODULES_FILE, report)
    settings = read_sentence_settings(folder, report)
    model_type = settings["model_type"]
    others = [module["type"] for module in listed if not module["type"].startswith(_OWN_CODE)]
    if others:
        raise ValueError(
            f"{folder / MODULES_FILE} lists {shown_name(', '.join(others))}, which is not of "
            "sentence-transformers; kbert runs no code of a folder. To read its encoder alone, pass "
            f"allow_unmatched={MODULES_FILE}."
        )
    kinds = [module["type"].rsplit(".", 1)[-1] for module in listed]
    is_cross_encoder = kinds == ["Transformer"] and model_type in (None, _CROSS_ENCODER)
    if not is_cross_encoder and kinds not in (
        ["Transformer", "Pooling"],
        ["Transformer", "Pooling", "Normalize"],
    ):
        raise ValueError(
            f"{folder / MODULES_FILE} lists the modules {shown_name(', '.join(kinds) or '(none)')}; kbert "
            "reads a Transformer, then a Pooling, then optionally a Normalize, and of a cross-encoder the "
            f"Transformer alone. To read its encoder alone, pass allow_unmatched={MODULES_FILE}."
        )
    folders = [path_inside(folder, module["path"], folder / MODULES_FILE, "folder") for module in listed]
    length, source = _read_transformer(folders[0], is_cross_encoder, report)
    pooling = {"mode": None, "width": None}
    if not is_cross_encoder:
        pooling = _read_pooling(folders[1] / "config.json", report)
    for own in folders[2:]:
        _check_normalize(own / "config.json", report)
    further = {name: settings[name] for name in _FURTHER} | {
        "include_prompt": pooling.pop("include_prompt", True)
    }
    return SentenceModules(
        encoder_folder=folders[0],
        pooling=pooling["mode"],
        normalize="Normalize" in kinds,
        max_seq_length=json_count(length, "max_seq_length", source, SHORTEST_LENGTH),
        do_lower_case=json_value(length, "do_lower_case", bool, source, False),
        further=further,
        width=pooling["width"],
        activation=settings["activation_fn"],
    )


_FURTHER = ("truncate_dim", "prompts", "default_prompt_name", "similarity_fn_name")


def read_sentence_settings(folder: Path, report: Report) -> dict:
    """The values of config_sentence_transformers.json, None or the default where it does not say one.

    Raises:
      ValueError: for a family of models that kbert does not have, and values that it does not know.
    """
    file = folder / SENTENCE_FILE
    settings = read_json_object(file) if file.is_file() else {}
    check_keys(SENTENCE_FILE, settings, file, report)
    model_type = json_value(settings, "model_type", str, file)
    if model_type not in (None, *_FAMILIES):
        what = _OTHER_FAMILIES.get(model_type, "something else")
        raise ValueError(
            f"{file} is of model_type {shown(model_type)}, which has {what}; kbert reads "
            f"{', '.join(_FAMILIES)}. "
            f"To read its encoder alone, pass allow_unmatched={MODULES_FILE}."
        )
    prompts = json_value(settings, "prompts", dict, file, {})
    values = {
        "model_type": model_type,
        "prompts": {name: "" if prompt is None else prompt for name, prompt in prompts.items()},
        "default_prompt_name": json_value(settings, "default_prompt_name", str, file),
        "similarity_fn_name": json_value(settings, "similarity_fn_name", str, file, "cosine"),
        "truncate_dim": json_count(settings, "truncate_dim", file),
        "activation_fn": json_value(settings, "activation_fn", str, file),
    }
    try:
        config = PoolingConfig(**{name: values[name] for name in _FURTHER})
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if model_type == _CROSS_ENCODER and config.prompt():
        report.conflict(
            "default_prompt_name",
            f"{file}: default_prompt_name={shown(config.default_prompt_name)} puts {shown(config.prompt())} "
            "before "
            "the texts of a cross-encoder, which kbert does not do",
        )
    return values


def write_sentence_modules(folder: Path, pooling: PoolingConfig, max_seq_length: int, width: int):
    """Makes a Hugging Face folder one of sentence-transformers.

    Args:
      folder: holds the files of the encoder.
      pooling: how one vector is made of a text.
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
    (folder / "1_Pooling").mkdir()
    write_json(_pooling_values(pooling, width), folder / "1_Pooling" / "config.json")
    write_json({"max_seq_length": max_seq_length, "do_lower_case": False}, folder / LENGTH_FILES[0])
    settings: dict = {
        "model_type": _FAMILIES[0],
        "prompts": dict(pooling.prompts),
        "default_prompt_name": pooling.default_prompt_name,
        "similarity_fn_name": pooling.similarity_fn_name,
    }
    if pooling.truncate_dim is not None:
        settings["truncate_dim"] = pooling.truncate_dim
    write_json(settings, folder / SENTENCE_FILE)
    write_json(modules, folder / MODULES_FILE)  # last: with it, the folder is one of sentence-transformers


def _pooling_values(pooling, width):
    """Of the modes the seven booleans, which all versions read; a list where these have another order."""
    values: dict = {"word_embedding_dimension": width, "include_prompt": pooling.include_prompt}
    if sorted(pooling.modes, key=list(_POOLING_MODES.values()).index) == list(pooling.modes):
        return values | {
            f"pooling_mode_{theirs}": ours in pooling.modes for theirs, ours in _POOLING_MODES.items()
        }
    back = {ours: theirs for theirs, ours in _NEWER_MODES.items()}
    return values | {"pooling_mode": [back.get(mode, mode) for mode in pooling.modes]}


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


def _read_transformer(folder, is_cross_encoder, report):
    """(what its file of settings says, the file); the first of the seven names that is there."""
    source = next((folder / name for name in LENGTH_FILES if (folder / name).is_file()), None)
    settings = read_json_object(source) if source else {}
    check_keys(LENGTH_FILES[0], settings, source, report)
    task = list(_GIVEN)[is_cross_encoder]
    output, name = _GIVEN[task]
    modalities = json_value(settings, "modality_config", dict, source, {})
    text = json_value(modalities, "text", dict, source, {"method": "forward", "method_output_name": output})
    expected = {
        "transformer_task": (settings.get("transformer_task"), task),
        "module_output_name": (settings.get("module_output_name"), name),
        "modality_config: the method of text": (text.get("method"), "forward"),
        "modality_config: method_output_name": (text.get("method_output_name"), output),
    }
    for key, (theirs, ours) in expected.items():
        if theirs not in (None, ours):
            report.conflict(key.split(":")[0], f"{source}: {key} is {shown(theirs)}, but kbert's is {ours!r}")
    return settings, source


def _check_normalize(path, report):
    settings = read_json_object(path) if path.is_file() else {}
    check_keys("2_Normalize/config.json", settings, path, report)
    for key in ("module_input_name", "module_output_name"):
        if settings.get(key) not in (None, _VECTOR):
            report.conflict(key, f"{path}: {key}={shown(settings[key])}, but kbert scales the text's vector")


def _read_pooling(path, report):
    """{"mode", "include_prompt", "width"}."""
    settings = read_json_object(path)
    check_keys("1_Pooling/config.json", settings, path, report)
    older = json_count(settings, "word_embedding_dimension", path)
    return {
        "mode": _pooling_mode(settings, path),
        "include_prompt": json_value(settings, "include_prompt", bool, path, True),
        "width": json_count(settings, "embedding_dimension", path) or older,
    }


def _pooling_mode(settings, path):
    if "pooling_mode" in settings:  # the newer spelling: one word, or several
        chosen = settings["pooling_mode"]
        chosen = [chosen] if isinstance(chosen, str) else json_texts(settings, "pooling_mode", path, [])
        modes = [_NEWER_MODES.get(name, name) for name in chosen]
    else:
        chosen = [
            key.removeprefix("pooling_mode_")
            for key in settings
            if key.startswith("pooling_mode_") and json_value(settings, key, bool, path, False)
        ]
        modes = [mode for name, mode in _POOLING_MODES.items() if name in chosen]
        if not chosen:  # as sentence-transformers takes it
            return PoolingConfig.mode
    if not modes or not set(modes) <= set(POOLINGS) or len(modes) != len(chosen):
        raise ValueError(
            f"{path} pools by {shown_name(' and '.join(chosen) or 'nothing')}; kbert pools by "
            f"{', '.join(POOLINGS)}, or by several of them."
        )
    return JOIN.join(modes)
