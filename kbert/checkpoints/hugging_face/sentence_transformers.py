"""The settings of a sentence-transformers folder: where its BERT is, and what becomes of texts behind it.

The folder lists its modules in modules.json; each is a folder of its own. The package sentence-transformers
is not needed. Its four kinds of models are known:

- SentenceTransformer: a Transformer, a Pooling, then any number of Dense and Normalize;
- CrossEncoder: a Transformer alone;
- SparseEncoder (SPLADE): a Transformer with the masked-LM head, and a SpladePooling;
- MultiVectorEncoder (ColBERT): a Transformer, Dense and Normalize on each token, and a MultiVectorMask.
"""

import dataclasses
from pathlib import Path

from kbert.checkpoints import HUGGING_FACE
from kbert.checkpoints.hugging_face.absent_files import note_absence
from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.hugging_face.sentence_models import (
    CROSS_ENCODER,
    DENSE_MODEL,
    MODULES_FILE,
    OF_TRANSFORMER,
    READERS,
    SPARSE_MODEL,
    TOKEN_MODEL,
    SentenceModules,
    model_kind,
    require_modules,
)
from kbert.checkpoints.hugging_face.sentence_vectors import OF_TOKENS, WITH_CONFIG, Module
from kbert.checkpoints.hugging_face.tokenizer import find_prompt_tokens
from kbert.checkpoints.report import Report
from kbert.checks import SHORTEST_LENGTH
from kbert.files.json_file import read_json, read_json_object
from kbert.files.json_values import json_count, json_value, shown, shown_name
from kbert.files.path_inside import path_inside
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary import Vocabulary

LENGTH_FILES = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
SENTENCE_FILE = "config_sentence_transformers.json"
_OWN_CODE = "sentence_transformers."  # where the classes of its modules stand
# Kind of a model -> what the Transformer module of it does, what it gives, and how it calls that.
_GIVEN = {
    DENSE_MODEL: ("feature-extraction", "last_hidden_state", OF_TOKENS),
    CROSS_ENCODER: ("sequence-classification", "logits", "scores"),
    SPARSE_MODEL: ("fill-mask", "logits", OF_TOKENS),
    TOKEN_MODEL: ("feature-extraction", "last_hidden_state", OF_TOKENS),
}


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
    settings = read_sentence_settings(folder, report)
    if not (folder / SENTENCE_FILE).is_file():
        note_absence(
            folder / SENTENCE_FILE,
            "there are no prompts, and how answers are cut and compared is the usual way",
            report,
            is_common=True,  # before release 2, and of some who write folders by hand
        )
    modules = _read_modules(folder, report)
    model = settings.pop("model_type") or model_kind({module.kind for module in modules})
    require_modules(model, [module.kind for module in modules], folder)
    if model == CROSS_ENCODER:
        refuse_default_prompt(folder, settings, report)
    transformer, source = _read_transformer(modules[0].folder, model, report)
    if model == TOKEN_MODEL:
        settings["prompt_tokens"] = find_prompt_tokens(modules[0].folder, settings["prompts"])
    return dataclasses.replace(
        _in_one_file(READERS[model], folder, modules[1:], settings, transformer, report),
        encoder_folder=modules[0].folder,
        activation=settings["activation_fn"],
        **_length(transformer, source),
    )


def read_encoder_alone(path, report: Report) -> SentenceModules:
    """Where the first module of a folder lies, with its length and casing, whatever stands behind it.

    Args:
      path: the folder; without modules.json the encoder lies in it.
      report: takes notes, and knows what is allowed.

    Raises:
      ValueError: for broken files.
    """
    folder = Path(path)
    listed = _read_list(folder / MODULES_FILE) if is_sentence_transformers(folder) else []
    inside = listed[0]["path"] if listed else ""
    encoder_folder = path_inside(folder, inside, folder / MODULES_FILE, "folder")
    if listed:
        report.note(
            f"{MODULES_FILE} is allowed to be left out: the model in {encoder_folder} is read alone, without "
            "the modules, prompts and activation of the folder"
        )
    transformer, source = _read_length(encoder_folder, report) if listed else ({}, None)
    return SentenceModules(encoder_folder, None, **_length(transformer, source))


def with_casing(vocabulary: BaseVocabulary, modules: SentenceModules, report: Report) -> BaseVocabulary:
    """The encoder's vocabulary with the casing of its folder, which may lower-case texts before.

    Raises:
      ValueError: for one that cannot lower-case, unless `do_lower_case` is allowed.
    """
    if vocabulary.do_lower_case or not modules.do_lower_case:
        return vocabulary
    if isinstance(vocabulary, Vocabulary):
        report.note("texts are lower-cased (sentence_bert_config.json) before the cased tokenizer cuts them")
        return vocabulary.with_rules(do_lower_case=True)
    report.conflict(
        "do_lower_case",
        f"{modules.encoder_folder} lower-cases its texts (do_lower_case in {LENGTH_FILES[0]}), which kbert "
        f"does for WordPiece alone, and this tokenizer is {vocabulary.kind}: lower-case them yourself",
    )
    return vocabulary


def read_prompt_tokens(folder: Path, encoder_folder: Path) -> tuple[str, ...]:
    """Those of the prompts of a ColBERT's folder, for its tokenizer alone; none of other folders."""
    file = folder / SENTENCE_FILE
    settings = read_json_object(file) if file.is_file() else {}
    if settings.get("model_type") != TOKEN_MODEL:
        return ()
    return find_prompt_tokens(encoder_folder, json_value(settings, "prompts", dict, file, {}))


def _length(transformer, source):
    return {
        "max_seq_length": json_count(transformer, "max_seq_length", source, SHORTEST_LENGTH),
        "do_lower_case": json_value(transformer, "do_lower_case", bool, source, False),
    }


def _in_one_file(read, folder, modules, settings, transformer, report):
    """What `read` makes of the modules; a ValueError of a config names the folder, whose files made it."""
    shared = {name: value for name, value in settings.items() if value is not None}
    shared.pop("activation_fn", None)
    for name in OF_TRANSFORMER:
        if transformer.get(name) is not None:
            shared[name] = transformer[name]
    try:
        return read(modules, shared, report)
    except ValueError as error:
        inside = str(folder) in str(error)
        raise error if inside else ValueError(f"{folder}: {error}") from None


def read_sentence_settings(folder: Path, report: Report) -> dict:
    """The values of config_sentence_transformers.json, None where it does not say one; prompts are texts.

    Raises:
      ValueError: for a family of models that kbert does not have, and values that it does not know.
    """
    file = folder / SENTENCE_FILE
    settings = read_json_object(file) if file.is_file() else {}
    check_keys(SENTENCE_FILE, settings, file, report)
    model_type = json_value(settings, "model_type", str, file)
    if model_type not in (None, *_GIVEN):
        raise ValueError(
            f"{file} is of model_type {shown(model_type)}; kbert reads {', '.join(_GIVEN)}. To read its "
            f"encoder alone, pass allow_unmatched={MODULES_FILE}."
        )
    prompts = json_value(settings, "prompts", dict, file, {})
    prompts = {name: "" if prompt is None else prompt for name, prompt in prompts.items()}
    return {
        "model_type": model_type,
        "prompts": prompts,
        "default_prompt_name": json_value(settings, "default_prompt_name", str, file),
        "similarity_fn_name": json_value(settings, "similarity_fn_name", str, file),
        "truncate_dim": json_count(settings, "truncate_dim", file),
        "max_active_dims": json_count(settings, "max_active_dims", file),
        "activation_fn": json_value(settings, "activation_fn", str, file),
    }


def refuse_default_prompt(folder: Path, settings: dict, report: Report):
    """What a cross-encoder's `read_sentence_settings` may not have."""
    name = settings["default_prompt_name"]
    if prompt := settings["prompts"].get(name):
        report.conflict(
            "default_prompt_name",
            f"{folder / SENTENCE_FILE}: default_prompt_name={shown(name)} puts {shown(prompt)} before the "
            "texts of a cross-encoder, which kbert does not do",
        )


def _read_modules(folder, report) -> list[Module]:
    path = folder / MODULES_FILE
    listed = _read_list(path)
    for module in listed:
        check_keys(MODULES_FILE, module, path, report)
    others = [module["type"] for module in listed if not module["type"].startswith(_OWN_CODE)]
    if others:
        raise ValueError(
            f"{path} lists {shown_name(', '.join(others))}, which is not of sentence-transformers; kbert "
            f"runs no code of a folder. To read its encoder alone, pass allow_unmatched={MODULES_FILE}."
        )
    kinds = (module["type"].rsplit(".", 1)[-1] for module in listed)
    modules = [
        Module(
            "Transformer" if kind == "MLMTransformer" else kind,
            path_inside(folder, module["path"], path, "folder"),
        )
        for kind, module in zip(kinds, listed, strict=True)
    ]
    absent = [module.file for module in modules if module.kind in WITH_CONFIG and not module.file.is_file()]
    if absent:
        raise ValueError(
            f"{path} lists a module whose settings, {absent[0]}, are not there: this is a part of the model. "
            "Copy all of its files, or download it again by hf://ORG/NAME."
        )
    return modules


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
        return modules  # sentence-transformers goes by their order, whatever idx says
    raise ValueError(f"{path} is broken; expected a list of modules with idx, path and type.")


def _read_length(folder, report):
    """(what the Transformer's file of settings says, the file): the first of the seven names there is."""
    source = next((folder / name for name in LENGTH_FILES if (folder / name).is_file()), None)
    settings = read_json_object(source) if source else {}
    if source is None:
        consequence = "length and casing of texts are those of the tokenizer and the encoder"
        note_absence(folder / LENGTH_FILES[0], consequence, report)
    check_keys(LENGTH_FILES[0], settings, source, report)
    return settings, source


def _read_transformer(folder, model, report):
    """What `_read_length` gives; refuses what no Transformer of such a model does."""
    settings, source = _read_length(folder, report)
    task, output, name = _GIVEN[model]
    usual = {"text": {"method": "forward", "method_output_name": output}}
    modalities = json_value(settings, "modality_config", dict, source) or usual
    if modalities.keys() != usual.keys():
        report.conflict(
            "modality_config",
            f"{source}: modality_config is of {shown(', '.join(modalities))}, but kbert reads texts alone, "
            "through no chat template",
        )
    text = json_value(modalities, "text", dict, source, usual["text"])
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
