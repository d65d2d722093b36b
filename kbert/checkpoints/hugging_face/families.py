"""The classes of transformers that kbert reads and writes, by families.

RoBERTa and those after it number positions from `pad_token_id` + 1 on, over the tokens that are no padding.
In kbert padding stands at the end, so their positions are BERT's without the rows that no token reads.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.names import (
    CLASSIFIER_POOLER,
    DISTILBERT,
    ELECTRA,
    HUGGING_FACE,
    MODERNBERT,
    MPNET,
    ROBERTA,
    SUMMARY_POOLER,
    NameRow,
)
from kbert.checkpoints.hugging_face import modernbert
from kbert.checkpoints.model_variables import task_parts
from kbert.config import EncoderConfig
from kbert.files.json_values import shown_name
from kbert.heads.parts import NO_HEADS, POOLER, Part
from kbert.tasks import TASKS

BARE_ENCODER = "BertModel"


class Family(NamedTuple):
    """Classes with one encoder.

    Args:
      name: what the names of its classes begin with.
      heads: what they end with -> the end of BERT's class for the same task.
      table: the names of the variables.
      pooler_hidden_act: the activation of the layer that a classifier reads.
      keys: the keys of config.json for the settings of `EncoderConfig`; what has no key here is fixed.
      second_names: the settings that its class also takes by BERT's names (`attribute_map` there).
      defaults: settings where config.json has nothing, as far as BERT has other values.
      prefix: what the encoder's names begin with in a class with a head.
      has_pooler: whether the bare encoder has a pooler, as BERT.
      own_poolers: what the names of its classes end with -> the names of the layer that stands for a pooler
        there, where these are not those of `table`.
      after_padding: whether positions are numbered from `pad_token_id` + 1 on, as in RoBERTa.
      masked_lm_act: the activation of its masked-LM head; None where that is the encoder's.
    """

    name: str
    heads: dict[str, str]
    table: dict[str, tuple[NameRow, ...]]
    pooler_hidden_act: str
    keys: dict[str, str]
    defaults: dict
    prefix: str
    has_pooler: bool = False
    own_poolers: Mapping[str, tuple[NameRow, ...]] = MappingProxyType({})
    after_padding: bool = False
    masked_lm_act: str | None = None
    second_names: tuple[str, ...] = ()

    @property
    def classes(self) -> dict[str, str]:
        """The names of its classes -> the class of BERT for the same task."""
        return {f"{self.name}{end}": f"Bert{bert}" for end, bert in self.heads.items()}

    def name_table(self, architecture: str) -> dict[str, tuple[NameRow, ...]]:
        """The names of a class's variables: those of `table`, but for a head's own pooler."""
        own = self.own_poolers.get(architecture.removeprefix(self.name))
        return self.table | {"pooler": own} if own else self.table

    def skipped_positions(self, pad_id: int) -> int:
        """How many rows of the position table no token reads."""
        if not self.after_padding:
            return 0
        return 2 if self.name == "MPNet" else pad_id + 1  # its code takes 1 whatever pad_token_id is


def _same(*names):
    return {name: name for name in names}


_ALL = (
    "Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMaskedLM",
    "ForMultipleChoice",
)  # fmt: skip
# ModernBERT's settings stand behind the buckets.
_FIELDS = list(EncoderConfig.__dataclass_fields__)
_BERT_KEYS = _same(*_FIELDS[: _FIELDS.index("relative_attention_num_buckets")])
_ROBERTA_KEYS = {ours: theirs for ours, theirs in _BERT_KEYS.items() if ours != "embedding_size"}
_MPNET_KEYS = _ROBERTA_KEYS | _same("relative_attention_num_buckets")
del _MPNET_KEYS["type_vocab_size"]  # no segments
# The epsilon is fixed.
_DISTILBERT_KEYS = {
    "vocab_size": "vocab_size",
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "hidden_act": "activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "max_position_embeddings": "max_position_embeddings",
    "initializer_range": "initializer_range",
}
_DISTILBERT_DEFAULTS = {"num_hidden_layers": 6, "type_vocab_size": 0, "pooler_hidden_act": "relu"}
_ELECTRA_DEFAULTS = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "embedding_size": 128,
    "pooler_hidden_act": "gelu_erf",
}
MPNET_BUCKETS = 32  # fixed in its code, MPNetEncoder.compute_position_bias
_MPNET_DEFAULTS = {
    "vocab_size": 30527,
    "type_vocab_size": 0,
    "relative_attention_num_buckets": MPNET_BUCKETS,
}


def _after_roberta(name, table=ROBERTA, keys=_ROBERTA_KEYS, defaults=None, prefix="roberta."):
    defaults = defaults or {"vocab_size": 50265}
    poolers = {"ForSequenceClassification": CLASSIFIER_POOLER}
    return Family(
        name,
        _same(*_ALL),
        table,
        "tanh",
        keys,
        defaults,
        prefix,
        has_pooler=True,
        own_poolers=poolers,
        after_padding=True,
        masked_lm_act="gelu_erf",
    )


# By the model_type of config.json. The classes of BERT are those that tasks name.
FAMILIES = {
    "bert": Family("Bert", {}, HUGGING_FACE, "tanh", _BERT_KEYS, {}, "bert.", has_pooler=True),
    "distilbert": Family(
        "DistilBert",
        _same(*_ALL),
        DISTILBERT,
        "relu",
        _DISTILBERT_KEYS,
        _DISTILBERT_DEFAULTS,
        "distilbert.",
        second_names=("hidden_size", "num_attention_heads", "num_hidden_layers"),
    ),
    "electra": Family(
        "Electra",
        _same(*_ALL) | {"ForPreTraining": "Model"},
        ELECTRA,
        "gelu_erf",
        _BERT_KEYS,
        _ELECTRA_DEFAULTS,
        "electra.",
        own_poolers={"ForMultipleChoice": SUMMARY_POOLER},
        masked_lm_act="gelu_erf",
    ),
    "roberta": _after_roberta("Roberta"),
    "xlm-roberta": _after_roberta("XLMRoberta"),
    "mpnet": _after_roberta("MPNet", MPNET, _MPNET_KEYS, _MPNET_DEFAULTS, "mpnet."),
    "modernbert": Family(
        "ModernBert",
        _same(*_ALL),
        MODERNBERT,
        "gelu_erf",
        modernbert.KEYS,
        modernbert.DEFAULTS,
        "model.",
    ),
}


# The kind of a vocabulary -> who has it.
_AFTER_ROBERTA = {"bpe": "roberta", "sentencepiece": "xlm-roberta"}


def architectures() -> list[str]:
    """The classes of transformers that kbert reads; each task names its own."""
    own = dict.fromkeys(TASKS[name].checkpoint.architecture for name in TASKS)
    others = [name for family in FAMILIES.values() for name in family.classes]
    return [BARE_ENCODER, *(name for name in own if name not in (None, BARE_ENCODER)), *others]


def require_readable(name: str, path, model_type: str | None = None):
    """Raises ValueError for a class that kbert does not read; in a known family the tensors tell it."""
    if name == "HF_ColBERT":
        raise ValueError(
            f"{path} is a ColBERT in Stanford's form (HF_ColBERT); save it with sentence-transformers 6, "
            "MultiVectorEncoder(path).save_pretrained(folder), and give the folder."
        )
    if model_type is None and name not in architectures():
        raise ValueError(
            f"{path} is of class {shown_name(name)}, which kbert has no model for; it reads "
            f"{', '.join(architectures())}."
        )


def find_model_type(architecture: str | None) -> str:
    """The key of a class's family in FAMILIES; "bert" for None."""
    return next((key for key, family in FAMILIES.items() if architecture in family.classes), "bert")


def find_task(name: str, problem_type: str | None = None) -> str:
    """kbert's task for a class of transformers; `problem_type` says what the class's logits mean."""
    name = FAMILIES[find_model_type(name)].classes.get(name, name)
    return TASKS.find_by_architecture(name, problem_type) or TASKS.find_by_architecture(name) or ""


def has_own_pooler(name: str) -> bool:
    """Whether a class has what stands for a pooler; a bare DistilBERT or ELECTRA has nothing."""
    family = FAMILIES[find_model_type(name)]
    return family.has_pooler or family.classes.get(name) != BARE_ENCODER


def stored_parts(name: str, parts: dict[str, Part]) -> dict[str, Part]:
    """Those of a model's parts that a class has variables for."""
    return {key: part for key, part in parts.items() if key != POOLER.name or has_own_pooler(name)}


def written_model_type(checkpoint: BertCheckpoint) -> str:
    """The family that a checkpoint is written as: the one whose settings it has.

    RoBERTa and XLM-R differ from BERT, and from each other, in nothing but their vocabulary and in having one
    kind of segment.
    """
    encoder, kind = checkpoint.encoder, checkpoint.vocabulary.kind
    if encoder.global_rope_theta is not None:
        return "modernbert"
    if encoder.relative_attention_num_buckets:
        return "mpnet"
    if not encoder.type_vocab_size and encoder.pooler_hidden_act == "relu":
        return "distilbert"
    if encoder.type_vocab_size == 1 and kind in _AFTER_ROBERTA:
        return _AFTER_ROBERTA[kind]
    is_electra = encoder.embedding_size is not None or encoder.pooler_hidden_act == "gelu_erf"
    return "electra" if is_electra else "bert"


def find_architecture(checkpoint: BertCheckpoint) -> str:
    """The class of transformers for a checkpoint. Raises ValueError if there is none for its task."""
    task_class = TASKS[checkpoint.task]
    name = task_class.checkpoint.architecture
    usual = task_parts(task_class.from_labels(checkpoint.labels))
    if name is None or checkpoint.parts.keys() - NO_HEADS != usual.keys() - NO_HEADS:
        parts = ", ".join(checkpoint.parts)
        raise ValueError(
            f"Hugging Face has no class for kbert's task {checkpoint.task!r} with {parts}; write the encoder "
            "alone (--encoder_only)."
        )
    family = FAMILIES[written_model_type(checkpoint)]
    classes = [own for own, bert in family.classes.items() if bert == name]
    if family.heads and not classes:
        raise ValueError(
            f"{checkpoint.source} has an encoder as {family.name}'s, and kbert has no class of it for the "
            f"task {checkpoint.task!r}; keep it as a run (--format=kbert), or write the encoder alone "
            "(--encoder_only)."
        )
    return classes[0] if classes else name


def require_own_padding(family, vocabulary, source, report):
    """Refuses an MPNet whose padding is not token 1: transformers gives token 1 no position of its own."""
    if family.name == "MPNet" and vocabulary.pad_id != 1:
        report.conflict(
            "pad_token_id",
            f"{source}: {vocabulary.special_tokens.pad} is token {vocabulary.pad_id}, but transformers' "
            f"MPNet takes token 1 ({vocabulary.tokens[1]}) for padding and gives texts with it other numbers",
        )
