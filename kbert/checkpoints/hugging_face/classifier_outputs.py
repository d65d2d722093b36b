"""The outputs of a classifier in a folder of transformers: their names, and what they mean."""

from kbert.checkpoints.bert_config_file import PROBLEM_TYPE, SEVERAL_LABELS
from kbert.checkpoints.hugging_face.architecture import num_outputs
from kbert.checkpoints.hugging_face.config import CONFIG_FILE, label_names
from kbert.checkpoints.hugging_face.cross_encoder import (
    CROSS_ENCODER,
    REGRESSION,
    SIGMOID,
    find_activation,
)
from kbert.checkpoints.hugging_face.families import find_task
from kbert.files.json_values import shown
from kbert.tasks import TASKS


def find_labels(config, architecture, stored, folder, report):
    """The names of the outputs. What config.json says of them must agree, also with the weights."""
    if not TASKS[find_task(architecture)].checkpoint.has_labels:
        return ()
    count, path = num_outputs(stored), folder / CONFIG_FILE
    if config.id2label is None:
        count = count or 2
        report.note(f"config.json names no labels; the {count} outputs are called LABEL_0, LABEL_1 ...")
        labels = tuple(_numbered_ids(count))
    else:
        labels = label_names(config.id2label, path)
    if count not in (None, len(labels)):
        raise ValueError(
            f"{folder}: config.json names {len(labels)} labels (id2label), but the classifier has "
            f"{count} outputs; use config and weights of one model."
        )
    if config.num_labels not in (None, len(labels)):
        report.conflict(
            "num_labels",
            f"{path}: num_labels={config.num_labels}, but there are {len(labels)} labels, {shown(labels)}",
        )
    ids = {name: str(id_) for name, id_ in (config.label2id or {}).items()}
    # transformers writes its numbered names beside an id2label that was set later, and answers by the latter.
    if ids not in (_numbered_ids(len(ids)), {name: str(index) for index, name in enumerate(labels)}):
        report.conflict(
            "label2id", f"{path}: label2id is {shown(config.label2id)}, but the labels are {shown(labels)}"
        )
    return labels


def _numbered_ids(count) -> dict[str, str]:
    """What transformers has for label2id where nobody names the labels."""
    return {f"LABEL_{index}": str(index) for index in range(count)}


def find_meaning(config, name, labels, activation, stored, is_sentences, folder, report):
    """(problem type, activation): what the outputs of a classifier mean, and what makes a score of them."""
    # A cross-encoder's only output is a number, whatever the config says.
    is_number = len(labels) == 1 and (is_sentences or not config.problem_type)
    problem_type = "regression" if is_number else config.problem_type
    if not name.endswith("ForSequenceClassification"):
        return problem_type, None
    if problem_type == "regression" and len(labels) > 1:
        raise ValueError(
            f"{folder / CONFIG_FILE}: problem_type is 'regression' with {len(labels)} outputs; kbert's "
            "regression has one."
        )
    # TensorFlow's classes did not write what they had learnt.
    is_regression = config.problem_type == "regression" or stored.as_in_keras
    kind = CROSS_ENCODER if is_sentences else REGRESSION if is_regression else None
    if problem_type == SEVERAL_LABELS and (activation or config.activation) is None:
        return problem_type, None  # each has its sigmoid
    activation = find_activation(activation or config.activation, len(labels), kind, folder, report)
    # transformers writes a problem_type at a training, and keeps the keys that others wrote before it.
    is_later = config.problem_type == "regression" if len(labels) == 1 else config.is_one_label
    if activation == SIGMOID and is_later and not is_sentences:
        report.conflict(
            "activation_fn",
            f"{folder}: its score goes through a sigmoid by its activation, but not by problem_type in "
            f"{CONFIG_FILE}, which transformers writes where it trains a model; remove the activation there "
            f'(activation_fn, sbert_ce_default_activation_function), or write "{PROBLEM_TYPE}": null for the '
            "sigmoid",
        )
        activation = None
    if len(labels) > 1 and activation == SIGMOID and problem_type is None:
        report.note("each output goes through a sigmoid: read as several labels")
        problem_type = SEVERAL_LABELS
    return problem_type, activation if problem_type == "regression" else None
