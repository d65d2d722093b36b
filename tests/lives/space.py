"""What may differ between two lives, by the code's own declarations: a new option is in it by itself."""

import dataclasses
import functools
import random
import re
import types
import typing
from collections.abc import Callable

from kbert.checkpoints import FORMATS
from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig
from kbert.tasks import TASKS
from tests.kbert.checkpoints import random_checkpoint
from tests.kbert.experiments.every_training import NOT_TRAINED, PAIRINGS

# Shapes of published families, as `EncoderConfig` says them.
FAMILIES = {
    "bert": {},
    "distilbert": random_checkpoint.DISTILBERT,
    "electra": random_checkpoint.ELECTRA,
    "roberta": random_checkpoint.ROBERTA,
    "mpnet": random_checkpoint.MPNET,
    "modernbert": random_checkpoint.MODERNBERT,
}
TOKENIZERS = ("wordpiece", "wordpiece_cased", "bpe", "sentencepiece")
TASK_NAMES = tuple(name for name in TASKS if name not in NOT_TRAINED)
# Columns, labels and texts that files of people have.
COLUMNS = ("text", "Text", "sentence 1", "größe", "a,b", "label_", "select", "#1 String")
LABELS = (("0", "1"), ("ja", "nein"), ("a b", "c;d", "ß"), ("x", "y", "z", "😀"), ("O'Neill", '"q"'))

# What a life fixes itself: the shape of its data, its length, and what is no choice.
_FIXED = {
    EncoderConfig: {"vocab_size", "max_position_embeddings", "initializer_range"},
    FinetuningConfig: {
        "task", "task_settings", "encoder", "description", "distillation", "best_metric", "peak_flops",
        "train_batch_size", "eval_batch_size", "num_train_epochs", "log_every_steps", "jit_compile",
        "save_checkpoints_steps", "keep_checkpoints", "early_stopping_patience", "deterministic_ops",
        "dev_split", "max_train_examples", "eval_every_steps", "eval_every_epochs", "dataset",
    },
}  # fmt: skip
_INTEGERS = (1, 2, 3, 4, 8, 16, 32, 48)
_NUMBERS = (0.0, 0.05, 0.3, 0.5, 0.9, 1.0, 2.0)
_MOST = {"num_hidden_layers": 3, "reinit_layers": 3, "lstm_size": 8, "gradient_accumulation_steps": 4}
# By the clock, so no two trainings are equal.
_NEVER = {"budget"}


def draw_world(seed: int, accepts: Callable[[dict], bool]) -> dict:
    """What a life differs in from the plainest one: name -> value, ready for JSON.

    Args:
      seed: of the draws.
      accepts: whether kbert's configs allow a world; a choice that they refuse is not taken.
    """
    rng = random.Random(seed)
    world = {"seed": seed, "task": rng.choice(TASK_NAMES)}
    world["family"] = rng.choice(tuple(FAMILIES))
    world["tokenizer"] = rng.choice(TOKENIZERS if rng.random() < 0.5 else TOKENIZERS[:2])
    world["pairs"] = rng.random() < 0.4
    world["format"] = rng.choice(choices(DatasetConfig, "file_format"))
    world["columns"] = rng.sample(COLUMNS, 3)
    world["labels"] = list(rng.choice(LABELS))
    owners = [(EncoderConfig, "encoder"), (FinetuningConfig, "config")]
    owners += [(TASKS[world["task"]].settings_class, "settings")] * 2
    if not accepts(world):
        world["tokenizer"], world["family"] = TOKENIZERS[0], "bert"
    for _ in range(rng.randint(0, 8)):
        owner, prefix = rng.choice(owners)
        changed = world | _draw(owner, prefix, world, rng)
        world = changed if accepts(changed) else world
    return world


def _draw(owner, prefix, world, rng) -> dict:
    """One setting of a dataclass with another value than its default; {} where it has none to choose."""
    fields = [field for field in dataclasses.fields(owner) if field.name not in _FIXED.get(owner, ())]
    if not fields:
        return {}
    field = rng.choice(fields)
    name, kind = f"{prefix}.{field.name}", _kind(owner, field.name)
    if dataclasses.is_dataclass(kind):
        return _draw(kind, name, world, rng) or {name: {}}
    values = other_values(owner, field, world["labels"])
    return {name: rng.choice(values)} if values else {}


def other_values(owner, field, labels) -> list:
    """What a field of a dataclass may be beside its default, if its class allows it with the others."""
    values = _values(owner, field, _kind(owner, field.name), labels)
    return [value for value in values if value != field.default]


def _kind(owner, name):
    """The type of a field, without None."""
    hint = typing.get_type_hints(owner)[name]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return typing.get_origin(hint) or hint


def _values(owner, field, kind, labels) -> list:
    if kind is bool:
        return [False, True]
    if kind is int:
        return [number for number in _INTEGERS if number <= _MOST.get(field.name, 48)]
    if kind is float:
        scale = field.default if isinstance(field.default, float) and 0 < field.default < 0.05 else 1.0
        return [number * scale for number in _NUMBERS]
    if kind is dict:
        return [{label: 0.25 + 0.25 * n for n, label in enumerate(labels[:2])}]
    known = [choice for choice in choices(owner, field.name) if choice not in _NEVER]
    if kind is tuple:
        return [list(known[:number]) for number in range(1, len(known) + 1)]
    return known


@functools.cache
def choices(owner, name: str) -> tuple[str, ...]:
    """What a text setting may be, from the sentence that refuses another; () for one that takes any text."""
    for wrong in ("?", ("?",)):
        try:
            owner(**{name: wrong})
        except (ValueError, TypeError, KeyError) as error:
            found = re.search(r"(?:choose|give) (?:one of |some of )?([\w, ]+)", str(error))
            if found:
                return tuple(word for word in re.split(r",? or |, ", found[1].strip(" .")) if word)
    return ()


def conversions() -> tuple[str, ...]:
    """The formats that a model is written in."""
    return FORMATS


def pairing(task: str) -> str | None:
    """How a pretraining task's records are paired; None for a task on labelled files."""
    return PAIRINGS.get(task)
