"""`config.json` of a Hugging Face folder <-> EncoderConfig, task and labels."""

from dataclasses import dataclass

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.bert_config_file import (
    ONE_LABEL,
    PROBLEM_TYPE,
    SEVERAL_LABELS,
    read_problem_type,
)
from kbert.checkpoints.conversion.checks import MASKED_LM_KEYS, require_bert, require_berts_blocks
from kbert.checkpoints.conversion.own_keys import OwnKeys, own_keys, pop_own_keys
from kbert.checkpoints.hugging_face import modernbert
from kbert.checkpoints.hugging_face.cross_encoder import SIGMOID, activation_values, config_activation
from kbert.checkpoints.hugging_face.families import (
    FAMILIES,
    MPNET_BUCKETS,
    architectures,
    find_architecture,
    find_model_type,
    require_readable,
    written_model_type,
)
from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.other_files import lacking
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig, from_dict
from kbert.files.json_values import (
    is_unicode,
    json_count,
    json_texts,
    json_value,
    require_once,
    shown,
    shown_name,
)
from kbert.tasks import TASKS

CONFIG_FILE = "config.json"
# Hugging Face's "gelu" is the exact form; "gelu_new" and its later names are the original's tanh form.
_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_python": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_accurate": "gelu",
    "gelu_python_tanh": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_fast": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
_ACTIVATIONS_BACK = {"gelu_erf": "gelu", "gelu": "gelu_new"} | {
    name: name for name in ("relu", "tanh", "linear")
}

# Of ElectraForMultipleChoice, what makes one vector of a sequence: transformers' defaults.
_SUMMARY = {"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"}
# Rates that transformers has beside those of the layers -> what takes hidden_dropout_prob for it.
_DROPOUTS = dict.fromkeys("classifier_dropout seq_classif_dropout qa_dropout".split(), "heads take")
_DROPOUTS |= {"summary_last_dropout": "heads take", "embedding_dropout": "the embeddings take"}


@dataclass(frozen=True)
class HuggingFaceConfig:
    """What `config.json` says.

    Args:
      encoder: the encoder's shape.
      model_type: a key of FAMILIES.
      architecture: the class that the file names, or None.
      id2label, num_labels, label2id: as in the file, which may contradict themselves; None when it has none.
      skipped_positions: how many rows of the position table no token reads, see `families`.
      problem_type: "regression" or "multi_label_classification" as in the file, otherwise None.
      is_one_label: whether the file says "single_label_classification".
      own: the values of kbert's own keys.
      activation: the class by which a cross-encoder makes a score of its output, or None.
    """

    encoder: EncoderConfig
    model_type: str
    architecture: str | None
    id2label: dict | None
    num_labels: int | None
    label2id: dict | None
    skipped_positions: int
    problem_type: str | None
    is_one_label: bool
    own: OwnKeys
    activation: str | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the class is none of `architectures()`, such as one of somebody's own."""
        return self.architecture not in (None, *architectures())


def parse_config(values: dict, path, report: Report) -> HuggingFaceConfig:
    """Reads the object of a `config.json`.

    Raises:
      ValueError: for another architecture, a decoder, relative positions, or any other setting that changes
        the results and that kbert does not have; the message names the key.
    """
    own = pop_own_keys(values, path)
    model_type = json_value(values, "model_type", str, path)
    if model_type not in (None, *FAMILIES):
        raise ValueError(
            f"{path} is of model_type {shown(model_type)}{lacking(model_type)}; kbert reads "
            f"{', '.join(map(repr, FAMILIES))}."
        )
    architecture = _architecture(values, model_type, path, report)
    is_known = architecture in architectures()
    if model_type is None:
        model_type = find_model_type(architecture)
        report.note(f"config.json names no model_type; read as {model_type!r}")
    if is_known and find_model_type(architecture) != model_type:
        raise ValueError(f"{path} names model_type {model_type!r} but architecture {architecture!r}.")
    check_keys("config.json", values, path, report, model_type)
    if model_type == "electra" and (not is_known or architecture == "ElectraForMultipleChoice"):
        _require_usual_summary(values, path)
    own_part = "sentence_transformers"
    own_values = json_value(values, own_part, dict, path, {})
    check_keys(f"config.json: {own_part}", own_values, f"{path}: {own_part}", report)
    _note_dropouts(values, FAMILIES[model_type], path, report)
    pad_id = json_count(values, "pad_token_id", path, least=0)
    skipped = FAMILIES[model_type].skipped_positions(1 if pad_id is None else pad_id)
    return HuggingFaceConfig(
        encoder=_encoder_config(values, model_type, skipped, path, report),
        model_type=model_type,
        architecture=architecture,
        id2label=json_value(values, "id2label", dict, path),
        num_labels=json_count(values, "num_labels", path),
        label2id=json_value(values, "label2id", dict, path),
        skipped_positions=skipped,
        problem_type=read_problem_type(values, path),
        is_one_label=values.get(PROBLEM_TYPE) == ONE_LABEL,
        own=own,
        activation=config_activation(values, path),
    )


def _architecture(values, model_type, path, report):
    names = json_texts(values, "architectures", path) or [None]
    if len(names) > 1:
        report.note(f"config.json names several architectures; {shown_name(names[0])} is taken")
    if names[0] is not None:
        require_readable(names[0], path, model_type)
    return names[0]


def _note_dropouts(values, family, path, report):
    absent = family.defaults.get("hidden_dropout_prob", EncoderConfig.hidden_dropout_prob)
    encoders = values.get(family.keys["hidden_dropout_prob"], absent)
    for key, what_takes in _DROPOUTS.items():
        rate = json_value(values, key, float, path)
        if rate not in (None, encoders):
            report.note(f"{key}={rate} is not kept: {what_takes} hidden_dropout_prob in training")


def _encoder_config(values, model_type, skipped_positions, path, report):
    family = FAMILIES[model_type]
    settings = {"hidden_act": "gelu"} | family.defaults
    keys = {name: name for name in MASKED_LM_KEYS} | family.keys  # the first are kbert's own
    settings |= {ours: values[theirs] for ours, theirs in keys.items() if theirs in values}
    settings |= _second_names(values, family, path)
    theirs = json_value(settings, "hidden_act", str, path, "gelu")
    if theirs not in _ACTIVATIONS:
        raise ValueError(
            f"{path}: hidden_act={shown(theirs)} is not known to kbert; it knows {', '.join(_ACTIVATIONS)}."
        )
    settings["hidden_act"] = _ACTIVATIONS[theirs]
    report.note(f"hidden_act {theirs!r} there is {settings['hidden_act']!r} in kbert")
    if model_type == "modernbert":
        layers = json_count(settings, "num_hidden_layers", path)
        if layers is not None:  # null is refused with the other settings
            settings |= modernbert.layer_settings(values, layers, path)
        settings["pooler_hidden_act"] = settings["hidden_act"]
    if family.masked_lm_act:
        own = settings.get("masked_lm_hidden_act") or family.masked_lm_act
        settings["masked_lm_hidden_act"] = None if own == settings["hidden_act"] else own
    if skipped_positions:
        settings |= _after_padding(values, family, skipped_positions, path, report)
    encoder = from_dict(EncoderConfig, settings, where=str(path))
    if model_type == "bert":
        require_bert(encoder, path)
    return encoder


def _second_names(values, family, path):
    """The settings that a file has by their second names."""
    settings = {name: values[name] for name in family.second_names if name in values}
    for name, value in settings.items():
        first = family.keys[name]
        if values.get(first, value) != value:
            raise ValueError(
                f"{path}: {first}={shown(values[first])} and {name}={shown(value)} are two names of one "
                "setting; remove the one that is not this model's."
            )
    return settings


def _after_padding(values, family, skipped_positions, path, report):
    """The settings that RoBERTa and those after it count otherwise than BERT."""
    rows = json_count(values, "max_position_embeddings", path, least=skipped_positions + 1) or 512
    report.note(f"positions begin at row {skipped_positions} of {rows}; kbert has the rows from there on")
    settings = {"max_position_embeddings": rows - skipped_positions}
    if "type_vocab_size" not in family.keys:
        _require_mpnets_buckets(values, path)
        return settings
    segments = json_count(values, "type_vocab_size", path) or 2
    if segments != 1:
        report.conflict(
            "type_vocab_size",
            f"{path}: type_vocab_size={segments}, but {family.name}'s tokenizer tells no segments apart, and "
            "kbert takes the first row for all tokens",
        )
    return settings | {"type_vocab_size": 1}


def _require_usual_summary(values, path):
    """Refuses another `ElectraSequenceSummary` of transformers than that of its defaults."""
    others = [name for name, usual in _SUMMARY.items() if values.get(name, usual) != usual]
    if others:
        shown_values = ", ".join(f"{name}={shown(values[name])}" for name in others)
        raise ValueError(
            f"{path}: {shown_values}, but kbert's ELECTRA for multiple choice has "
            f"{', '.join(f'{name}={shown(_SUMMARY[name])}' for name in others)}."
        )


def _require_mpnets_buckets(values, path):
    buckets = json_count(values, "relative_attention_num_buckets", path) or MPNET_BUCKETS
    if buckets != MPNET_BUCKETS:
        raise ValueError(
            f"{path}: relative_attention_num_buckets={buckets}, but transformers' MPNet computes with "
            f"{MPNET_BUCKETS} whatever is set; use config and weights of one model."
        )


def label_names(names: dict, path) -> tuple[str, ...]:
    """The names of `id2label` in order. Raises ValueError for ids with gaps and what is no name."""
    ids = [str(index) for index in range(len(names))]
    if set(ids) != set(names) or not all(
        type(name) in (str, int) and name != "" and is_unicode(str(name)) for name in names.values()
    ):
        raise ValueError(
            f"{path}: id2label should map the ids 0, 1, 2 ... to names, none of them empty, received "
            f"{shown(names)}."
        )
    labels = tuple(str(names[index]) for index in ids)
    require_once(labels, f"{path}: id2label")
    return labels


def build_config(checkpoint: BertCheckpoint) -> dict:
    """The object of `config.json` for a checkpoint."""
    encoder, vocabulary = checkpoint.encoder, checkpoint.vocabulary
    model_type = written_model_type(checkpoint)
    values = {
        "architectures": [find_architecture(checkpoint)],
        "model_type": model_type,
        "vocab_size": encoder.vocab_size,
        "hidden_size": encoder.hidden_size,
        "num_hidden_layers": encoder.num_hidden_layers,
        "num_attention_heads": encoder.num_attention_heads,
        "intermediate_size": encoder.intermediate_size,
        "hidden_act": _ACTIVATIONS_BACK[encoder.hidden_act],
        "hidden_dropout_prob": encoder.hidden_dropout_prob,
        "attention_probs_dropout_prob": encoder.attention_probs_dropout_prob,
        "max_position_embeddings": encoder.max_position_embeddings,
        "type_vocab_size": encoder.type_vocab_size,
        "initializer_range": encoder.initializer_range,
        "layer_norm_eps": encoder.layer_norm_eps,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": True,
        "pad_token_id": vocabulary.pad_id,
        "torch_dtype": "float32",
    }
    for name in MASKED_LM_KEYS:  # read back by kbert alone
        if getattr(encoder, name) is not None:
            values[name] = getattr(encoder, name)
    if FAMILIES[model_type].masked_lm_act not in (None, encoder.masked_lm_settings[0]):
        values["masked_lm_hidden_act"] = encoder.masked_lm_settings[0]
    if encoder.pooler_hidden_act != FAMILIES[model_type].pooler_hidden_act and model_type != "modernbert":
        values["pooler_hidden_act"] = encoder.pooler_hidden_act
    if model_type == "electra":
        values["embedding_size"] = encoder.embedding_width
    if FAMILIES[model_type].after_padding:
        values["max_position_embeddings"] += FAMILIES[model_type].skipped_positions(vocabulary.pad_id)
        values |= {"bos_token_id": vocabulary.cls_id, "eos_token_id": vocabulary.sep_id}
    if model_type == "mpnet":
        values["relative_attention_num_buckets"] = encoder.relative_attention_num_buckets
        del values["type_vocab_size"]
    if model_type == "distilbert":
        values |= {theirs: values.pop(ours) for ours, theirs in FAMILIES[model_type].keys.items()}
        del values["type_vocab_size"], values["layer_norm_eps"]
    if model_type == "modernbert":
        modernbert.require_modernbert(encoder, checkpoint.source)
        values = modernbert.config_values(
            values, encoder, {"cls": vocabulary.cls_id, "sep": vocabulary.sep_id}
        )
    else:
        require_berts_blocks(encoder, checkpoint.source)
        if model_type != "electra" and encoder.embedding_width != encoder.hidden_size:
            raise ValueError(
                f"{checkpoint.source} has embedding_size={encoder.embedding_size}, for which "
                f"{FAMILIES[model_type].name} of transformers has no place; keep it as a run "
                "(--format=kbert)."
            )
    # Without a name for its one output, transformers would give a regression two.
    labels = checkpoint.labels or (("LABEL_0",) if checkpoint.problem_type == "regression" else ())
    if labels:
        values["id2label"] = {str(index): name for index, name in enumerate(labels)}
        values["label2id"] = {name: index for index, name in enumerate(labels)}
    # The logits of such a class may mean several things.
    if TASKS.find_by_architecture(TASKS[checkpoint.task].checkpoint.architecture, "regression"):
        values["problem_type"] = checkpoint.problem_type or ONE_LABEL
    if checkpoint.problem_type == "regression":
        activation = checkpoint.known_task.task_config.get("activation")
        values |= activation_values(activation)
        if activation == SIGMOID:  # to pipelines a regression is the output itself
            values["problem_type"] = None
    elif checkpoint.problem_type == SEVERAL_LABELS:
        values |= activation_values(SIGMOID)  # a cross-encoder of several outputs has none by default
    return values | own_keys(checkpoint)
