"""The JSON files of a KerasHub preset <-> EncoderConfig, task, labels and length. keras_hub is not needed."""

from dataclasses import dataclass
from pathlib import Path

from kbert.article import with_article
from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.encoder_settings import MASKED_LM_KEYS
from kbert.checkpoints.conversion.own_keys import UNTRAINED, VOCABULARY_SIZE, OwnKeys, take_own_keys
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig, from_dict
from kbert.config.checks import SHORTEST_LENGTH
from kbert.config.pooling_config import PoolingConfig
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, require_once, shown, shown_name
from kbert.files.whole_file import write_json
from kbert.heads.parts import MASKED_LM, POOLER
from kbert.tasks import TASKS

CONFIG_FILE = "config.json"
TASK_FILE = "task.json"
PREPROCESSOR_FILE = "preprocessor.json"
METADATA_FILE = "metadata.json"

# KerasHub's arguments -> kbert's. KerasHub has a single `dropout`, for the attention as well.
_BACKBONE = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
# Fixed in the code of BertBackbone, BertMaskedLM and MaskedLMHead; a preset cannot change them.
FIXED = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "initializer_range": 0.02,
    "pooler_hidden_act": "tanh",
}
MASKED_LM_SETTINGS = ("gelu_erf", 1e-5)

CLASSIFICATION = "classification"  # the part of kbert's models that is KerasHub's classifier
# Class of task.json -> (KerasHub's present name, the head that kbert has for it).
_TASKS = {
    "BertTextClassifier": ("BertTextClassifier", CLASSIFICATION),
    "BertClassifier": ("BertTextClassifier", CLASSIFICATION),
    "BertMaskedLM": ("BertMaskedLM", MASKED_LM.name),
    "BertTextEmbedder": ("BertBackbone", None),
}
_PACKAGES = ("keras_hub", "keras_nlp")  # KerasHub was called keras_nlp until 2024

# kbert's own keys, in metadata.json: KerasHub writes that file and never reads it.
_ENCODER, _LABELS, _PROBLEM_TYPE = "kbert_encoder", "kbert_labels", "kbert_problem_type"
_MOST_LABELS = 1_000_000
_KEPT = (*FIXED, "attention_probs_dropout_prob", *MASKED_LM_KEYS)


@dataclass(frozen=True)
class KerasHubConfig:
    """What the JSON files of a preset say.

    Args:
      encoder: the encoder's shape.
      backbone: the arguments of `BertBackbone`.
      class_name: "BertBackbone", "BertTextClassifier" or "BertMaskedLM".
      task: a key of `kbert.tasks.TASKS`.
      labels: the names of a classifier's outputs.
      max_seq_length: the preprocessor's length, or None.
      own: the values of kbert's own keys.
    """

    encoder: EncoderConfig
    backbone: dict
    class_name: str
    task: str
    labels: tuple[str, ...]
    max_seq_length: int | None
    own: OwnKeys


def is_preset(path) -> bool:
    """Whether the folder's config.json is that of a KerasHub preset (Keras's, with a registered name)."""
    file = Path(path) / CONFIG_FILE
    return file.is_file() and "registered_name" in read_json_object(file)


def embedding_settings(path) -> PoolingConfig | None:
    """How a sentence embedder (BertTextEmbedder) makes one vector of many; None for everything else.

    Args:
      path: any path.

    Raises:
      ValueError: for a pooling that kbert does not have.
    """
    file = Path(path) / TASK_FILE
    if not is_preset(path) or not file.is_file():
        return None
    values = read_json_object(file)
    if registered_class(values, file) != "BertTextEmbedder":
        return None
    settings = values["config"]
    return PoolingConfig(
        json_value(settings, "pooling_mode", str, file, "mean"),
        json_value(settings, "normalize", bool, file, True),
    )


def registered_class(values: dict, path) -> str:
    """The class of a serialized object, without its package.

    Raises:
      ValueError: for an object that is not KerasHub's own; kbert does not search for the code of others.
    """
    registered = json_value(values, "registered_name", str, path, "")
    package, _, name = registered.partition(">")
    if package not in _PACKAGES or not name or not isinstance(values.get("config"), dict):
        raise ValueError(
            f"{path} holds {with_article(shown(registered))}; expected a preset of KerasHub's own BERT "
            "classes."
        )
    return name


def parse_preset(folder: Path, allowance: Allowance, report: Report) -> KerasHubConfig:
    """Reads config.json, and task.json, preprocessor.json and metadata.json where they are.

    Args:
      folder: the preset.
      allowance: settings that may differ: `activation`, `sequence_length`.
      report: takes notes.

    Raises:
      ValueError: for another model, quantized weights, or files that contradict each other.
    """
    metadata = _read_if_there(folder / METADATA_FILE)
    own = take_own_keys(metadata, folder / METADATA_FILE)
    kept = _kept_settings(metadata, folder / METADATA_FILE)
    backbone = _backbone(read_json_object(folder / CONFIG_FILE), folder / CONFIG_FILE)
    class_name, head, settings = "BertBackbone", None, {}
    task_values = _read_if_there(folder / TASK_FILE)
    if task_values:
        class_name, head, settings = _task(task_values, folder, backbone, allowance, report)

    found = {ours: backbone[theirs] for theirs, ours in _BACKBONE.items()} | FIXED
    found["attention_probs_dropout_prob"] = backbone["dropout"]
    if head == MASKED_LM.name:
        found |= dict(zip(MASKED_LM_KEYS, MASKED_LM_SETTINGS, strict=True))
    for name, value in kept.items():
        if name != "attention_probs_dropout_prob":
            report.note(f"{name}={value!r} as kbert recorded it; KerasHub computes with {found.get(name)!r}")
    encoder = from_dict(EncoderConfig, found | kept, where=str(folder / CONFIG_FILE))
    if head == MASKED_LM.name and encoder.masked_lm_settings == MASKED_LM_SETTINGS:
        report.note(
            f"KerasHub's masked-LM head uses {MASKED_LM_SETTINGS[0]} and epsilon {MASKED_LM_SETTINGS[1]:g}: "
            "kept, as masked_lm_hidden_act and masked_lm_layer_norm_eps"
        )
    labels = _labels(metadata, settings, folder, report) if head == CLASSIFICATION else ()
    task = _kbert_task(head, labels, metadata, folder / METADATA_FILE)
    return KerasHubConfig(
        encoder,
        backbone,
        class_name,
        task,
        labels,
        _length(folder, task_values, encoder, allowance, report),
        own,
    )


def _kbert_task(head, labels, metadata, path):
    """The key of the model's task in TASKS."""
    if head is None:
        return TASKS.of_parts({POOLER.name})
    if head != CLASSIFICATION:
        return TASKS.of_parts({head})
    task = TASKS.of_parts({POOLER.name, head})
    problem_type = json_value(metadata, _PROBLEM_TYPE, str, path)
    if problem_type is None and len(labels) == 1:
        problem_type = "regression"
    known = TASKS.of_architecture(TASKS[task].architecture, problem_type)
    if known is None:
        raise ValueError(
            f"{path}: {_PROBLEM_TYPE}={shown(problem_type)} is not known; expected regression or "
            "multi_label_classification."
        )
    return known


def _read_if_there(path):
    return read_json_object(path) if path.is_file() else {}


def _backbone(values, path):
    name = registered_class(values, path)
    if name != "BertBackbone":
        raise ValueError(
            f"{path} is {with_article(shown_name(name))}, which kbert has no model for; it reads "
            "BertBackbone."
        )
    config = dict(values["config"])
    for key in ("name", "trainable"):
        config.pop(key, None)
    policy = config.pop("dtype", None)
    kind = json_value(policy, "class_name", str, f"{path}: dtype") if isinstance(policy, dict) else None
    if kind not in (None, "DTypePolicy"):
        kind = shown_name(kind)
        raise ValueError(f"{path}: the weights are quantized ({kind}); take float weights.")
    config = {"dropout": 0.1, "max_sequence_length": 512, "num_segments": 2} | config
    lacking, strange = sorted(_BACKBONE.keys() - config.keys()), sorted(config.keys() - _BACKBONE.keys())
    if lacking or strange:
        what = (
            f"has no key {lacking[0]!r}"
            if lacking
            else f"has the key {shown(strange[0])}, which kbert does not know"
        )
        raise ValueError(f"{path} {what}; expected the arguments of BertBackbone: {', '.join(_BACKBONE)}.")
    return config


def _task(values, folder, backbone, allowance, report):
    """(KerasHub's class, the head that kbert has for it, settings of the task)."""
    path = folder / TASK_FILE
    name = registered_class(values, path)
    if name not in _TASKS:
        raise ValueError(
            f"{path} is {with_article(shown_name(name))}, which kbert has no model for; it reads "
            f"{', '.join(_TASKS)}."
        )
    settings = values["config"]
    inner = settings.get("backbone")
    if not isinstance(inner, dict) or _backbone(inner, path) != backbone:
        raise ValueError(f"{path} has another backbone than {CONFIG_FILE}; use the files of one preset.")
    class_name, head = _TASKS[name]
    if head == CLASSIFICATION:
        activation = json_value(settings, "activation", str, path) or "linear"
        if activation == "softmax":
            report.note("KerasHub's classifier gives probabilities; kbert gives logits and probabilities")
        elif activation != "linear":
            allowance.conflict(
                "activation", f"{path}: the classifier's activation is {shown(activation)}", report
            )
        dropout = json_value(settings, "dropout", float, path)
        if dropout not in (None, backbone["dropout"]):
            report.note(f"the classifier's dropout={dropout} is not kept: heads take hidden_dropout_prob")
    if name == "BertTextEmbedder":
        report.note(
            f"a sentence embedder: pooling_mode={shown(settings.get('pooling_mode'))}, "
            f"normalize={shown(settings.get('normalize'))}, which kbert.load(...).embed uses"
        )
    return class_name, head, settings


def _kept_settings(metadata, path):
    kept = json_value(metadata, _ENCODER, dict, path, {})
    if not set(kept) <= set(_KEPT):
        raise ValueError(f"{path}: {_ENCODER} should be an object with keys among {', '.join(_KEPT)}.")
    return kept


def _labels(metadata, settings, folder, report):
    count = json_count(settings, "num_classes", folder / TASK_FILE)
    if count is None or count > _MOST_LABELS:
        raise ValueError(
            f"{folder / TASK_FILE}: num_classes should be a number from 1 to {_MOST_LABELS}, received "
            f"{shown(count)}."
        )
    labels = json_texts(metadata, _LABELS, folder / METADATA_FILE)
    if labels is None:
        report.note(f"KerasHub names no labels; the {count} outputs are called LABEL_0, LABEL_1 ...")
        return _plain_labels(count)
    require_once(labels, f"{folder / METADATA_FILE}: {_LABELS}")
    if len(labels) != count:
        raise ValueError(
            f"{folder / METADATA_FILE}: {_LABELS} should list {count} names, received {shown(labels)}."
        )
    return tuple(labels)


def _plain_labels(count):
    return tuple(f"LABEL_{index}" for index in range(count))


def _length(folder, task_values, encoder, allowance, report):
    preprocessor = _read_if_there(folder / PREPROCESSOR_FILE)
    path = folder / PREPROCESSOR_FILE
    if not preprocessor and task_values:
        path = folder / TASK_FILE
        preprocessor = json_value(task_values["config"], "preprocessor", dict, path, {})
    settings = json_value(preprocessor, "config", dict, path, {})
    length = json_count(settings, "sequence_length", f"{path}: the preprocessor", SHORTEST_LENGTH)
    if length is not None and length > encoder.max_position_embeddings:
        allowance.conflict(
            "sequence_length",
            f"{folder}: the preprocessor's sequence_length={length} is more than the "
            f"{encoder.max_position_embeddings} positions (max_sequence_length)",
            report,
        )
        return encoder.max_position_embeddings
    return length


# --------------------------------------------------------------------------------------- writing


def backbone_arguments(encoder: EncoderConfig) -> dict:
    """The arguments of `BertBackbone` for an encoder."""
    return {theirs: getattr(encoder, ours) for theirs, ours in _BACKBONE.items()}


def add_own_keys(folder: Path, checkpoint: BertCheckpoint, head: str | None, untrained, report: Report):
    """Records in metadata.json what a preset has no key for, so that kbert can read it back.

    Args:
      folder: a preset, written by KerasHub.
      checkpoint: what it was written from.
      head: the head that was written, or None.
      untrained: kbert names of the variables that were initialised and never trained.
      report: takes a note of what KerasHub does not know.
    """
    encoder = checkpoint.encoder
    values: dict = {}
    if len(checkpoint.vocabulary) < encoder.vocab_size:
        values[VOCABULARY_SIZE] = len(checkpoint.vocabulary)
    if untrained:
        values[UNTRAINED] = list(untrained)
    own_settings = MASKED_LM_SETTINGS if head == MASKED_LM.name else (None, None)
    theirs = FIXED | dict(zip(MASKED_LM_KEYS, own_settings, strict=True))
    theirs["attention_probs_dropout_prob"] = encoder.hidden_dropout_prob
    kept = {name: getattr(encoder, name) for name in _KEPT if getattr(encoder, name) != theirs[name]}
    if kept:
        values[_ENCODER] = kept
    if head == CLASSIFICATION:
        if checkpoint.labels != _plain_labels(len(checkpoint.labels)):
            values[_LABELS] = list(checkpoint.labels)
        if checkpoint.problem_type:
            values[_PROBLEM_TYPE] = checkpoint.problem_type
    if values:
        report.note(f"in {METADATA_FILE}, for kbert alone: {', '.join(values)}")
    write_json(read_json_object(folder / METADATA_FILE) | values, folder / METADATA_FILE)
