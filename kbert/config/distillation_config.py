"""What a student learns from a teacher, and how much each part of it counts."""

from dataclasses import dataclass
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checks import check_values, require
from kbert.files.json_values import shown

_Weight = Annotated[float, Bounds(0, 1e6)]
_OF_TEACHER = ("soft_label_weight", "hidden_weight", "cosine_weight")


@dataclass(frozen=True)
class DistillationConfig:
    """A frozen teacher, and the weight of each loss in the sum that training minimises.

    `teacher` is a checkpoint, as `--init_checkpoint` takes it; the flag `--teacher_checkpoint` sets it too.
    Formulas and sources are in docs/distillation.md.

    `label_weight` is for the task's own losses, on the labels. `soft_label_weight` is for the teacher's
    probabilities at `temperature`, times its square; for tasks that predict a number, the squared difference
    of the two numbers. `hidden_weight` is for the hidden states, `cosine_weight` for the direction of
    the last one.

    `init_layers` are the layers of the teacher that the student starts from, counted from 0, with its
    embeddings, pooler and head: [0, 2, 5] makes a student of three layers. Empty leaves the start to
    `--init_checkpoint`, or to random weights.
    """

    teacher: str | None = None
    temperature: Annotated[float, Bounds(1e-3, 1e3)] = 1.0
    label_weight: _Weight = 1.0
    soft_label_weight: _Weight = 1.0
    hidden_weight: _Weight = 0.0
    cosine_weight: _Weight = 0.0
    init_layers: tuple[int, ...] = ()

    def __post_init__(self):
        check_values(self, "distillation.")
        require(
            any(getattr(self, name) for name in _OF_TEACHER),
            f"distillation needs something to learn from the teacher: set one of {', '.join(_OF_TEACHER)}.",
        )
        require(
            bool(self.soft_label_weight) or self.temperature == 1.0,
            f"distillation.temperature={self.temperature} is that of the soft labels, but "
            "distillation.soft_label_weight is 0; leave one of them out.",
        )
        require(
            all(layer >= 0 for layer in self.init_layers),
            f"distillation.init_layers={shown(list(self.init_layers))}: layers are counted from 0.",
        )
