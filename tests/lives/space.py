"""What may differ between two lives, by the code's own declarations: a new option is in it by itself."""

import dataclasses
import functools
import random
import re
import types
import typing
from collections.abc import Callable

from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig, PretrainingConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.config.token_vectors_config import TokenVectorsConfig
from kbert.tasks import TASKS
from kbert.tokenization.wordpiece_rules import WordPieceRules
from tests.kbert.checkpoints import random_checkpoint
from tests.kbert.experiments.every_training import NOT_TRAINED, PAIRINGS
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings

# Shapes of published families, as `EncoderConfig` says them; RoBERTa with SentencePiece is XLM-R.
FAMILIES = {
    "bert": {},
    "distilbert": random_checkpoint.DISTILBERT,
    "electra": random_checkpoint.ELECTRA,
    "roberta": random_checkpoint.ROBERTA,
    "mpnet": random_checkpoint.MPNET,
    "modernbert": random_checkpoint.MODERNBERT,
}
TOKENIZERS = ("wordpiece", "wordpiece_cased", "wordpiece_mpnet", "bpe", "sentencepiece")
TASK_NAMES = tuple(name for name in TASKS if name not in NOT_TRAINED)
# Columns, labels and texts that files of people have; how their files are packed; where rows come from.
COLUMNS = "text;text_pair;label;Text;sentence 1;größe;a,b;label_;select;#1 String".split(";")
LABELS = (("0", "1"), ("ja", "nein"), ("a b", "c;d", "ß"), ("x", "y", "z", "😀"), ("O'Neill", '"q"'))
ENDINGS = ("", "", "", ".dat")  # "" for that of the format; where no name says it, the config does
# Of a fine-tuning: a checkpoint, one whose weights are not used, or a vocabulary and the config's encoder.
STARTS = ("checkpoint", "checkpoint", "checkpoint", "checkpoint", "from_scratch", "vocabulary")
PACKINGS = ("", "", ".gz", ".bz2", ".xz", ".zst")
SCALES = ((0, 1), (-1, 1), (0, 5))  # of two texts' similarity; the first is yes or no

# Tasks on a text and its positive or a score, which give vectors of texts.
VECTORS = ("cosine_similarity", "multiple_negatives_ranking", "sparse_embedding", "late_interaction")
# What a life fixes itself: what its files are, and what only a clock or a machine decides.
_TRAINING = {"task", "encoder", "description", "peak_flops", "jit_compile"}
_FIXED = {
    EncoderConfig: {"vocab_size", "max_position_embeddings"},
    FinetuningConfig: _TRAINING | {"task_settings"},
    PretrainingConfig: _TRAINING,
    DatasetConfig: {"text", "text_pair", "label", "choices", "file_format", "document", "sentence"},
    PretrainingSettings: {"do_lower_case", "pairing", "text_field", "split_sentences"},
    PoolingConfig: {"prompt_lengths", "dense"},  # layers of a folder, with its weights
    TokenVectorsConfig: {"dense"},
}
_INTEGERS = (1, 2, 3, 4, 8, 16, 32, 48)
_NUMBERS = (0.0, 0.05, 0.3, 0.5, 0.9, 1.0, 2.0)
_MOST = {
    "num_hidden_layers": 3, "reinit_layers": 3, "lstm_size": 8, "gradient_accumulation_steps": 4,
    "train_batch_size": 8, "num_train_steps": 8, "dupe_factor": 2, "max_predictions_per_seq": 8,
}  # fmt: skip
# Texts that no sentence lists.
_TEXTS = {
    "delimiter": (";", "|", "\t"),
    "encoding": ("utf-8", "utf-8-sig", "utf-16", "gb18030"),
    "label_separator": ("|", " / "),
    "best_metric": ("loss", "masked_lm_loss"),
    "mode": ("cls+mean",),
    "class_weights": ("balanced",),
    "scores": ("scores",),
    "token": ("the",),
}
# Lists of texts: what may stand in them.
_LISTS = {
    "negatives": (["negative"], ["negative", "fewer"]),
    "column_names": ([True],),
    "skiplist_words": ([",", ".", "the"],),
    "skiplist_tasks": ([], ["query"], ["query", "document"]),
    "prompt_tokens": (["the ", "house "],),
}
# Settings that say nothing alone.
_TOGETHER = {"prompt_tokens": {"prompts": {"query": "the ", "document": "house "}}}


def draw_world(seed: int, accepts: Callable[[dict], bool]) -> dict:
    """What a life differs in from the plainest one: name -> value, ready for JSON.

    Args:
      seed: of the draws.
      accepts: whether kbert's configs allow a world; a choice that they refuse is not taken.
    """
    rng = random.Random(seed)
    world = {
        "seed": seed,
        "task": rng.choice(TASK_NAMES),
        "family": rng.choice(tuple(FAMILIES)),
        "tokenizer": rng.choice(TOKENIZERS if rng.random() < 0.5 else TOKENIZERS[:2]),
        "pairs": rng.random() < 0.4,
        "format": rng.choice(choices(DatasetConfig, "file_format")),
        "packing": rng.choice(PACKINGS),
        "columns": rng.sample(COLUMNS, 3),
        "labels": list(rng.choice(LABELS)),
        "scale": list(rng.choice(SCALES)),
        "class_label": rng.random() < 0.5,
        "ending": rng.choice(ENDINGS),
        "start": rng.choice(STARTS),
        "encoder.num_hidden_layers": rng.choice((1, 1, 1, 2, 2, 3)),
    }
    if world["task"] == "question_answering" and seed % 4:
        world["settings.unanswerable"] = True
    if not accepts(world):
        world |= {"tokenizer": TOKENIZERS[0], "family": "bert"}
    for _ in range(rng.randint(0, 9)):
        owner, prefix = rng.choice(_owners(world["task"]))
        changed = dict(world)
        for _ in range(rng.choice((1, 1, 2))):  # some settings are only allowed together
            changed |= _draw(owner, prefix, world, rng)
        world = changed if changed != world and accepts(changed) else world
    return world


def _owners(task) -> list[tuple[type, str]]:
    """The classes whose fields a world may change, with the prefix of their settings."""
    training = PretrainingConfig if task in PAIRINGS else FinetuningConfig
    data = (PretrainingSettings, "corpus") if task in PAIRINGS else (DatasetConfig, "dataset")
    owners = [(EncoderConfig, "encoder"), (training, "config"), (training, "config"), data]
    owners += [(TASKS[task].settings_class, "settings")] * 2 + [(WordPieceRules, "rules")]
    return owners + [(TASKS[task].vectors_class, "pooling")] * 3 * (task in VECTORS)


def _draw(owner, prefix, world, rng) -> dict:
    """One setting of a dataclass with another value than its default; {} where it has none to choose."""
    fields = [field for field in dataclasses.fields(owner) if field.name not in _FIXED.get(owner, ())]
    if not fields:
        return {}
    field = rng.choice(fields)
    name, kind = f"{prefix}.{field.name}", _kind(owner, field.name)
    if dataclasses.is_dataclass(kind):
        needed = {one.name: rng.choice(_INTEGERS) for one in dataclasses.fields(kind) if _is_needed(one)}
        drawn = {f"{name}.{key}": value for key, value in needed.items()} | _draw(kind, name, world, rng)
        return drawn or {name: {}}
    values = other_values(owner, field, world["labels"], rng)
    others = {f"{prefix}.{key}": value for key, value in _TOGETHER.get(field.name, {}).items()}
    return {name: rng.choice(values)} | others if values else {}


def _is_needed(field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def other_values(owner, field, labels, rng) -> list:
    """What a field of a dataclass may be beside its default, if its class allows it with the others."""
    values = _values(owner, field, _kind(owner, field.name), labels, rng)
    # Cosines of vectors of one number are 1 or -1, their norm is 0, and ranks are rounding. A budget is the
    # clock's.
    never = {"truncate_dim": (1,), "embedding_size": (1,), "decay": ("budget",)}.get(field.name, ())
    return [value for value in values if value != field.default and value not in never]


def _kind(owner, name):
    """The type of a field, without None."""
    hint = typing.get_type_hints(owner)[name]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return hint if typing.get_origin(hint) is tuple else typing.get_origin(hint) or hint


def _values(owner, field, kind, labels, rng) -> list:
    if kind is bool:
        return [False, True]
    if kind is int:
        return [number for number in _INTEGERS if number <= _MOST.get(field.name, 48)]
    if kind is float:
        scale = field.default if isinstance(field.default, float) and 0 < field.default < 0.05 else 1.0
        return [number * scale for number in _NUMBERS]
    if typing.get_origin(kind) is tuple:
        return _tuples(owner, field, typing.get_args(kind)[0], labels, rng)
    if field.name == "prompts":
        return [{name: f"{name}: " for name in names} for names in (labels, ("query", "document"))]
    if field.name in ("positive_label", "default_prompt_name"):
        return labels
    known = [*_TEXTS.get(field.name, ()), *choices(owner, field.name)]
    if "dict" in str(typing.get_type_hints(owner)[field.name]):
        known.append({label: 0.25 + 0.25 * n for n, label in enumerate(labels[:2])})
    return known


def _tuples(owner, field, kind, labels, rng) -> list:
    if dataclasses.is_dataclass(kind):
        drawn = _draw(kind, "", {"labels": labels}, rng)
        steps = {"num_train_steps": 3}
        return [[steps, steps | {name[1:]: value for name, value in drawn.items()}]]
    if kind is int:
        return [[0], [0, 1], [1, 0], [2, 1]]
    if field.name in _LISTS:
        return list(_LISTS[field.name])
    known = choices(owner, field.name)
    return [list(labels)] if field.name == "labels" else [list(known[: n + 1]) for n in range(len(known))]


@functools.cache
def choices(owner, name: str) -> tuple[str, ...]:
    """What a text setting may be, from the sentence that refuses another; () for one that takes any text."""
    for wrong in ("?", ("?",)):
        try:
            owner(**{name: wrong})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            found = re.search(r"(?:choose|give|be|expected) (?:one of |some of )?([\w, ]+)", str(error))
            if found:
                words = re.split(r",? or |, ", found[1].strip(" ."))
                return tuple(word for word in words if word and " " not in word)
    return ()
