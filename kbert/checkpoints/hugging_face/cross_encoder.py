"""How a cross-encoder makes a score of its output: the activation, which three files may name.

Source: sentence-transformers, cross_encoder/model.py, `_parse_model_config` and `get_default_activation_fn`;
and for a folder that says nothing, transformers' pipelines/text_classification.py, which does the same.
"""

from pathlib import Path

from kbert.checkpoints.report import Report
from kbert.files.json_values import json_value, shown

IDENTITY, SIGMOID = "identity", "sigmoid"
CROSS_ENCODER, REGRESSION = "cross-encoder", "regression"
_CLASSES = {IDENTITY: "torch.nn.modules.linear.Identity", SIGMOID: "torch.nn.modules.activation.Sigmoid"}
_CONFIG_KEY = "sentence_transformers"
_OLDER_KEY = "sbert_ce_default_activation_function"


def config_activation(values: dict, path) -> str | None:
    """The class of the activation that `config.json` names, or None; the older key counts where the newer is
    not there, not where it is null. ValueError for what is no text."""
    own = json_value(values, _CONFIG_KEY, dict, path, {})
    if "activation_fn" in own:
        return json_value(own, "activation_fn", str, f"{path}: {_CONFIG_KEY}")
    return json_value(values, _OLDER_KEY, str, path)


def find_activation(
    name: str | None, num_outputs: int, kind: str | None, path: Path, report: Report
) -> str | None:
    """IDENTITY or SIGMOID; None where a folder of several outputs, or one that is a regression, says nothing.

    Args:
      name: the class that a file names, or None.
      num_outputs: of the classifier.
      kind: CROSS_ENCODER or REGRESSION, as the folder says it; None where it says neither.
      path: the folder, for messages.
      report: takes notes, and knows what is allowed.

    Raises:
      ValueError: for another class.
    """
    if name is None:
        if num_outputs != 1 or kind == REGRESSION:
            return None
        if kind == CROSS_ENCODER:
            return SIGMOID
        report.warn(
            f"{path} has one output, and nothing in it says that it is a regression, or names an activation: "
            "its score is the sigmoid of the output, as in sentence-transformers' CrossEncoder and "
            "transformers' pipelines",
            '. With "problem_type": "regression" in config.json it is the output itself',
        )
        return SIGMOID
    known = {theirs.rsplit(".", 1)[-1]: ours for ours, theirs in _CLASSES.items()}
    activation = known.get(name.rsplit(".", 1)[-1]) if name.startswith("torch.") else None
    if activation is None:
        report.conflict(
            "activation_fn",
            f"{path}: its score goes through {shown(name)}, but kbert has {' and '.join(_CLASSES.values())}",
        )
    return activation


def activation_values(activation: str | None) -> dict:
    """What config.json says of a score's activation; of None that there is none."""
    name = _CLASSES[activation or IDENTITY]
    return {_CONFIG_KEY: {"activation_fn": name}, _OLDER_KEY: name}  # the second for releases before 4
