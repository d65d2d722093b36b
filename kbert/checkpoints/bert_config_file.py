"""bert_config.json: the encoder as google-research/bert and Model Garden read it, with kbert's own keys.

Source: google-research/bert, modeling.py, `BertConfig.from_dict` and `get_activation`: any key is accepted,
only its own are used, and the epsilon of layer norms is always 1e-12.
"""

import dataclasses

from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig, from_dict
from kbert.config.presets import UNUSED_BERT_KEYS
from kbert.files.json_values import first_few, json_texts, json_value, require_once, shown, shown_name

CONFIG_FILE = "bert_config.json"
# kbert's own key: settings that the original has no word for, and would refuse or read otherwise.
_ENCODER = "kbert_encoder"
PROBLEM_TYPE = "problem_type"  # kbert's own too, with Hugging Face's values
LABELS = "labels"  # and this, the names of a head's outputs
SEVERAL_LABELS = "multi_label_classification"
ONE_LABEL = "single_label_classification"
_PROBLEM_TYPES = (ONE_LABEL, SEVERAL_LABELS, "regression")
_EXACT_GELU = "gelu_erf"
# Keys of other architectures with BERT's names of tensors -> what kbert lacks for them.
_OF_OTHERS = {
    "use_relative_position": "NEZHA's relative positions",
    "use_bottleneck": "MobileBERT's bottlenecks",
    "norm_first": "layers of BERT with their norms in front",
}
_UNUSED = ("backward_compatible", "preset", "description")  # the first is Model Garden's


def read_problem_type(values: dict, path) -> str | None:
    """What labels are: "regression", "multi_label_classification", or None where each example has one."""
    problem_type = json_value(values, PROBLEM_TYPE, str, path)
    if problem_type not in (None, *_PROBLEM_TYPES):
        raise ValueError(
            f"{path}: problem_type={shown(problem_type)} is not known; expected {', '.join(_PROBLEM_TYPES)}."
        )
    return None if problem_type == ONE_LABEL else problem_type


def read_labels(values: dict, num_labels: int, path) -> tuple[str, ...]:
    """The names of a head's outputs; empty where the file has none.

    Raises:
      ValueError: for what is no list of names, repeated ones, and another number of them.
    """
    labels = tuple(json_texts(values, LABELS, path, ()))
    require_once(labels, f"{path}: {LABELS}")
    if labels and len(labels) != num_labels:
        raise ValueError(
            f"{path} names {len(labels)} labels, but the classifier has {num_labels} outputs; use config and "
            "weights of one model."
        )
    return labels


def read_encoder(values: dict, path, report: Report) -> EncoderConfig:
    """The encoder that a bert_config.json describes.

    Args:
      values: its content, without keys that are read elsewhere.
      path: the file, for messages.
      report: takes notes. What may differ, if allowed: `layer_norm_eps`, which the original ignores.

    Raises:
      ValueError: for values from which no encoder can be built.
    """
    if other := next((key for key in _OF_OTHERS if values.get(key)), None):
        raise ValueError(f"{path}: {other} is set, and kbert lacks {_OF_OTHERS[other]}; give a BERT.")
    own = json_value(values, _ENCODER, dict, path, {})
    known = {field.name for field in dataclasses.fields(EncoderConfig)}
    encoder = {name: value for name, value in values.items() if name in known}
    if "hidden_act" in encoder:
        encoder["hidden_act"] = _activation(encoder["hidden_act"])
    epsilon = encoder.pop("layer_norm_eps", None)
    if epsilon not in (None, EncoderConfig.layer_norm_eps) and "layer_norm_eps" not in own:
        report.conflict(
            "layer_norm_eps",
            f"{path}: layer_norm_eps={shown(epsilon)}, which the original's code ignores: it takes "
            f"{EncoderConfig.layer_norm_eps}; where the model was trained with it, write "
            f'"{_ENCODER}": {{"layer_norm_eps": {shown(epsilon)}}} instead',
        )
    unknown = sorted(values.keys() - known - {_ENCODER, *_UNUSED, *UNUSED_BERT_KEYS})
    if unknown:
        report.warn(
            f"{path}: no code of BERT's knows {first_few([*map(shown_name, unknown)], 8)}, nor does kbert",
            "; if it changes answers, these are not the model's",
        )
    return from_dict(EncoderConfig, encoder | own, where=str(path))


def _activation(name):
    """As the original takes it: in any case, and none is linear."""
    return (name.lower() if isinstance(name, str) else name) or "linear"


def encoder_values(encoder: EncoderConfig) -> dict:
    """What a bert_config.json says of an encoder, so that the original's code takes it too."""
    values = dataclasses.asdict(encoder)
    own = {}
    if encoder.hidden_act == _EXACT_GELU:  # get_activation knows no such name
        own["hidden_act"], values["hidden_act"] = _EXACT_GELU, "gelu"
    epsilon = values.pop("layer_norm_eps")
    if epsilon != EncoderConfig.layer_norm_eps:
        own["layer_norm_eps"] = epsilon
    if encoder.pooler_hidden_act == EncoderConfig.pooler_hidden_act:
        del values["pooler_hidden_act"]
    values = {name: value for name, value in values.items() if value is not None}
    return values | ({_ENCODER: own} if own else {})
