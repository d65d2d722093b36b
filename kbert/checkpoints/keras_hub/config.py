"""The JSON files of a KerasHub preset <-> EncoderConfig, task, labels and length. keras_hub is not needed."""

from dataclasses import dataclass
from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.bert_config_file import SEVERAL_LABELS
from kbert.checkpoints.conversion.checks import MASKED_LM_KEYS
from kbert.checkpoints.conversion.own_keys import (
    CASING,
    UNTRAINED,
    VOCABULARY_SIZE,
    OwnKeys,
    casing_key,
    pop_own_keys,
)
from kbert.checkpoints.report import Report
from kbert.checks import SHORTEST_LENGTH
from kbert.config import EncoderConfig, from_dict
from kbert.config.pooling_config import PoolingConfig
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, require_once, shown
from kbert.files.whole_file import write_json
from kbert.heads.parts import MASKED_LM, POOLER
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary

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
_DEFAULTS = {"dropout": 0.1, "max_sequence_length": 512, "num_segments": 2}
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
_MOST_LABELS = 1_000_000
_LONGER_FIRST = "round_robin"  # KerasHub's name for BERT's way

# kbert's own keys, in metadata.json: KerasHub writes that file and never reads it.
_SIGMOID = "sigmoid"
_ENCODER, _LABELS, _PROBLEM_TYPE = "kbert_encoder", "kbert_labels", "kbert_problem_type"
_LONGEST_WORD = "kbert_max_input_chars_per_word"
LONGEST_WORD = 100  # in bytes, fixed in KerasHub's WordPieceTokenizer
_KEPT = (*FIXED, "attention_probs_dropout_prob", *MASKED_LM_KEYS)


@dataclass(frozen=True)
class KerasHubConfig:
    """What the JSON files of a preset say.

    Args:
      encoder: the encoder's shape.
      class_name: "BertBackbone", "BertTextClassifier" or "BertMaskedLM".
      task: a key of `kbert.tasks.TASKS`.
      labels: the names of a classifier's outputs.
      activation: "sigmoid" where its only output goes through one; else None.
      max_seq_length: the preprocessor's length, or the number of positions.
      pooling: how a sentence embedder (BertTextEmbedder) makes one vector of many; None for all others.
      own: the values of kbert's own keys.
      longest_word: in characters; longer words become [UNK].
      is_casing_known: see `decide_casing`.
    """

    encoder: EncoderConfig
    class_name: str
    task: str
    labels: tuple[str, ...]
    activation: str | None
    max_seq_length: int
    pooling: PoolingConfig | None
    own: OwnKeys
    longest_word: int
    is_casing_known: bool


def class_and_settings(values: dict, path, known) -> tuple[str, dict]:
    """The class of a serialized object, without its package, and its arguments.

    Raises:
      ValueError: for a class that is not KerasHub's own or not in `known`; kbert does not search for the
        code of others.
    """
    registered = json_value(values, "registered_name", str, path, "")
    package, _, name = registered.partition(">")
    settings = json_value(values, "config", dict, path)
    if package not in _PACKAGES or name not in known or settings is None:
        raise ValueError(
            f"{path} holds {shown(registered)}, which kbert does not read; it reads KerasHub's "
            f"{', '.join(known)}."
        )
    return name, settings


def parse_preset(folder: Path, report: Report) -> KerasHubConfig:
    """Reads config.json, and task.json, preprocessor.json and metadata.json where they are.

    Args:
      folder: the preset.
      report: takes notes. Settings that may differ, if allowed: `activation`, `truncate`.

    Raises:
      ValueError: for another model, quantized weights, or files that contradict each other.
    """
    backbone = _backbone(read_json_object(folder / CONFIG_FILE), folder / CONFIG_FILE)
    metadata = _read_if_there(folder / METADATA_FILE)
    own = pop_own_keys(metadata, folder / METADATA_FILE)
    name, class_name, head, settings = None, "BertBackbone", None, {}
    task_values = _read_if_there(folder / TASK_FILE)
    if task_values:
        name, settings = class_and_settings(task_values, folder / TASK_FILE, _TASKS)
        class_name, head = _TASKS[name]
        _check_task(settings, folder / TASK_FILE, backbone, report)
    encoder = _encoder(backbone, head, metadata, folder)
    labels = _labels(metadata, settings, folder) if head == CLASSIFICATION else ()
    is_sigmoid = head == CLASSIFICATION and settings.get("activation") == _SIGMOID
    return KerasHubConfig(
        encoder=encoder,
        class_name=class_name,
        task=_kbert_task(head, labels, is_sigmoid, metadata, folder / METADATA_FILE),
        labels=labels,
        activation=_SIGMOID if is_sigmoid and len(labels) == 1 else None,
        max_seq_length=_length(folder / PREPROCESSOR_FILE, encoder, report),
        pooling=_pooling(settings, folder / TASK_FILE) if name == "BertTextEmbedder" else None,
        own=own,
        longest_word=json_count(metadata, _LONGEST_WORD, folder / METADATA_FILE) or LONGEST_WORD,
        is_casing_known=json_value(metadata, CASING, bool, folder / METADATA_FILE, False),
    )


def _read_if_there(path):
    return read_json_object(path) if path.is_file() else {}


def _backbone(values, path):
    """The arguments of BertBackbone, without name and type."""
    _, settings = class_and_settings(values, path, ("BertBackbone",))
    config = _DEFAULTS | settings
    policy = config.get("dtype")
    kind = policy.get("class_name") if isinstance(policy, dict) else None
    if kind not in (None, "DTypePolicy"):
        raise ValueError(f"{path}: the weights are quantized ({shown(kind)}); take float weights.")
    unknown = sorted(config.keys() - _BACKBONE.keys() - {"name", "trainable", "dtype"})
    lacking = sorted(_BACKBONE.keys() - config.keys())
    if lacking or unknown:
        raise ValueError(
            f"{path} lacks the keys {shown(lacking)} and has {shown(unknown)}, which kbert does not know; "
            f"expected the arguments of BertBackbone: {', '.join(_BACKBONE)}."
        )
    return {name: config[name] for name in _BACKBONE}


def _check_task(settings, path, backbone, report):
    if _backbone(json_value(settings, "backbone", dict, path, {}), path) != backbone:
        raise ValueError(f"{path} has another backbone than {CONFIG_FILE}; use the files of one preset.")
    activation = json_value(settings, "activation", str, path, "linear")
    if activation not in ("linear", "softmax", _SIGMOID):
        report.conflict("activation", f"{path}: the classifier's activation is {shown(activation)}")


def _encoder(backbone, head, metadata, folder):
    settings = {ours: backbone[theirs] for theirs, ours in _BACKBONE.items()} | FIXED
    settings["attention_probs_dropout_prob"] = backbone["dropout"]
    if head == MASKED_LM.name:
        settings |= dict(zip(MASKED_LM_KEYS, MASKED_LM_SETTINGS, strict=True))
    kept = json_value(metadata, _ENCODER, dict, folder / METADATA_FILE, {})
    settings |= {name: kept[name] for name in _KEPT if name in kept}
    return from_dict(EncoderConfig, settings, where=str(folder / CONFIG_FILE))


def _labels(metadata, settings, folder):
    count = json_count(settings, "num_classes", folder / TASK_FILE)
    if count is None or count > _MOST_LABELS:
        raise ValueError(
            f"{folder / TASK_FILE}: num_classes should be a number from 1 to {_MOST_LABELS}, received "
            f"{shown(count)}."
        )
    where = f"{folder / METADATA_FILE}: {_LABELS}"
    labels = json_texts(metadata, _LABELS, folder / METADATA_FILE)
    labels = labels or [f"LABEL_{index}" for index in range(count)]
    require_once(labels, where)
    if len(labels) != count:
        raise ValueError(f"{where} should list {count} names, received {shown(labels)}.")
    return tuple(labels)


def _kbert_task(head, labels, is_sigmoid, metadata, path):
    """The key of the model's task in TASKS. Outputs that each go through a sigmoid are several labels."""
    if head != CLASSIFICATION:
        return TASKS.find_by_parts({head or POOLER.name})
    default = "regression" if len(labels) == 1 else SEVERAL_LABELS if is_sigmoid else None
    problem_type = json_value(metadata, _PROBLEM_TYPE, str, path, default)
    known = TASKS.find_by_architecture("BertForSequenceClassification", problem_type)
    if known is None:
        raise ValueError(
            f"{path}: {_PROBLEM_TYPE}={shown(problem_type)} is not known; expected regression or "
            "multi_label_classification."
        )
    return known


def _length(path, encoder, report):
    settings = json_value(_read_if_there(path), "config", dict, path, {})
    truncate = json_value(settings, "truncate", str, path, _LONGER_FIRST)
    if truncate != _LONGER_FIRST:
        report.conflict(
            "truncate", f"{path}: a long pair is cut by {shown(truncate)}; kbert cuts the longer text first"
        )
    length = json_count(settings, "sequence_length", path, SHORTEST_LENGTH)
    return min(length or encoder.max_position_embeddings, encoder.max_position_embeddings)


def _pooling(settings, path):
    normalize = json_value(settings, "normalize", bool, path, True)
    return PoolingConfig(
        json_value(settings, "pooling_mode", str, path, "mean"),
        normalize,
        # BertTextEmbedder compares by the dot product, which is the cosine of vectors of length 1.
        similarity_fn_name="cosine" if normalize else "dot",
    )


# --------------------------------------------------------------------------------------- writing


def backbone_arguments(encoder: EncoderConfig) -> dict:
    """The arguments of `BertBackbone` for an encoder."""
    return {theirs: getattr(encoder, ours) for theirs, ours in _BACKBONE.items()}


def add_own_keys(folder: Path, checkpoint: BertCheckpoint, vocabulary: Vocabulary, untrained: list[str]):
    """Records in metadata.json what a preset has no key for, so that kbert can read it back.

    Args:
      folder: a preset, written by KerasHub.
      checkpoint: what it was written from.
      vocabulary: the checkpoint's.
      untrained: kbert names of the variables that were initialised and never trained.
    """
    values = {
        VOCABULARY_SIZE: len(vocabulary),
        UNTRAINED: untrained,
        _ENCODER: {name: getattr(checkpoint.encoder, name) for name in _KEPT},
        _LABELS: checkpoint.labels,
        _PROBLEM_TYPE: checkpoint.problem_type,
        _LONGEST_WORD: vocabulary.rules.max_input_chars_per_word,
        **casing_key(vocabulary),
    }
    write_json(read_json_object(folder / METADATA_FILE) | values, folder / METADATA_FILE)
