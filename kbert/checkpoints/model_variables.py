"""The variables of a task's model, by name and shape, and the parts that they belong to."""

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kbert.config import EncoderConfig
from kbert.files.json_values import first_few
from kbert.heads.parts import POOLER, Part

if TYPE_CHECKING:
    from kbert.tasks.task import Task


def task_parts(task: "Task") -> dict[str, Part]:
    """The parts of a task's model by name."""
    return {part.name: part for part in task.parts}


def with_pooler(parts: dict[str, Part]) -> dict[str, Part]:
    """The parts and the pooler, which published encoders have even if a task does not need it."""
    return parts | {POOLER.name: POOLER}


def part_name(name: str) -> str:
    """The part that a variable belongs to: "body", "pooler" or a head's name."""
    first = name.split("/")[0]
    return "body" if first == "embeddings" or first.startswith("layer_") else first


def part_shapes(shapes: dict[str, tuple[int, ...]], *parts: str) -> dict[str, tuple[int, ...]]:
    """Those of the variables that belong to the body ("body") or to parts with these names."""
    return {name: shape for name, shape in shapes.items() if part_name(name) in parts}


def model_shapes(
    config: EncoderConfig, task: "Task", parts: Iterable[str] | None = None
) -> dict[str, tuple[int, ...]]:
    """Every trained variable of a task's model: name -> shape, as in `trained_weights(model)`.

    Args:
      config: the encoder's shape.
      task: the task.
      parts: the names of the parts to tell beside the encoder's body, also the pooler of a task that does not
        need it; None for those of the task.
    """
    shapes = task.variable_shapes(config)
    return part_shapes(shapes, "body", *(task_parts(task) if parts is None else parts))


def shapes_of_file(config: EncoderConfig, task: "Task") -> tuple[dict, dict]:
    """(the shapes of a task's model and of a pooler, those of a pooler that the task does not need)"""
    own = task_parts(task)
    shapes = model_shapes(config, task, with_pooler(own))
    return shapes, {} if POOLER.name in own else part_shapes(shapes, POOLER.name)


def require_parts(task: "Task", names: Iterable[str]):
    """Compares what a task's model has on top of the encoder's layers with what the task says of it.

    Args:
      task: the `Task`.
      names: those of the trained variables of its model.

    Raises:
      ValueError: when `build_model` and `parts` differ.
    """
    made, named = {part_name(name) for name in names} - {"body"}, set(task_parts(task))
    if made != named:
        raise ValueError(
            f"{task.name}: build_model makes {_listed(made)}, where parts names {_listed(named)}; make parts "
            "name the layers that build_model makes, because checkpoints are read by it."
        )


def require_all_saved(task: "Task", model):
    """Raises ValueError where a task's model has weights that are not trained: checkpoints hold no others, so
    moving averages, and layers that are not `trainable`, would be lost."""
    lost = sorted(v.path for v in model.non_trainable_variables if not is_random_state(v))
    if lost:
        raise ValueError(
            f"{task.name}: build_model makes weights that are not trained, so no checkpoint would hold them: "
            f"{first_few(lost, 3)}. Freeze layers by the config ([frozen] or freeze_encoder), normalise "
            "without moving averages (LayerNormalization), and keep constants as arrays."
        )


def is_random_state(variable) -> bool:
    """Whether a variable of a Keras model is the state of a random generator, which seed and step rebuild."""
    return "seed_generator" in variable.path


def _listed(names):
    return ", ".join(sorted(names)) or "none"


def fresh_value(name: str, shape: tuple[int, ...], initializer_range: float) -> np.ndarray:
    """Initial float32 values for a variable that is in no file: as in a new model, and the same each time.

    Biases and betas are 0, gammas 1, everything else is normal with deviation `initializer_range`, cut at
    two deviations (modeling.py, `create_initializer`); the seed is the variable's name.
    """
    last = name.rsplit("/", 1)[-1]
    if last in ("bias", "beta", "output_bias"):
        return np.zeros(shape, np.float32)
    if last == "gamma":
        return np.ones(shape, np.float32)
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    values = generator.standard_normal(shape, np.float32)
    while (outside := np.abs(values) > 2.0).any():
        values[outside] = generator.standard_normal(int(outside.sum()), np.float32)
    return values * np.float32(initializer_range)
