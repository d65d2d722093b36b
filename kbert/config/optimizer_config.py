"""How weights are updated."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kbert.bounds import Bounds
from kbert.checks import Epsilon, Rate, check_values, require
from kbert.files.json_values import shown

Optimizer = Literal["adam_weight_decay", "adamw", "lamb"]
OPTIMIZERS = get_args(Optimizer)


@dataclass(frozen=True)
class OptimizerConfig:
    """How weights are updated, and the learning rate by step or time; formulas in docs/optimizers.md.

    `name` is one of OPTIMIZERS. `beta_1`, `beta_2` and `epsilon` are those of the moments; `weight_decay` is
    multiplied by the learning rate and the variable.

    `adam_weight_decay` is the original's Adam (optimization.py), without bias correction. `adamw` is Adam
    with bias correction. `lamb`, also with it, is for batches of thousands of examples. `bias_correction`
    switches the correction on or off for each of them. A variable has no weight decay if one of the regular
    expressions in `exclude_from_weight_decay` is found in its name. With `layer_decay` below 1 the learning
    rate of each layer is that of the layer above it times `layer_decay`.

    The rate rises linearly from 0 to `learning_rate` over the warm-up steps, then follows `decay` to
    `end_learning_rate`: "linear" (counted from step 0, as the original does), "linear_after_warmup" (as
    transformers does), "polynomial" (with `decay_power`), "cosine", "constant", or "budget".
    With "budget" it is linear in wall-clock time over `train_minutes`, and then training ends; warm-up takes
    the share `budget_warmup_proportion` of that time.

    `global_clipnorm` is the largest norm of all gradients together; longer gradients are scaled down to it.
    null or Infinity (`inf` in TOML, which has no null) switches clipping off, and is recorded as null.
    """

    name: Optimizer = "adam_weight_decay"
    learning_rate: Annotated[float, Bounds(above=0, largest=3e38)] = 1e-4  # the limit of float32
    weight_decay: Annotated[float, Bounds(0, 1000)] = 0.01
    beta_1: Rate = 0.9
    beta_2: Rate = 0.999
    epsilon: Epsilon = 1e-6
    global_clipnorm: float | None = 1.0
    bias_correction: bool | None = None
    # optimization.py, `create_optimizer`. Searched for anywhere in a variable's name.
    exclude_from_weight_decay: tuple[str, ...] = ("LayerNorm", "layer_norm", "bias")
    layer_decay: Annotated[float, Bounds(above=0, largest=1)] = 1.0
    decay: Literal["linear", "linear_after_warmup", "polynomial", "cosine", "constant", "budget"] = "linear"
    decay_power: Annotated[float, Bounds(above=0, largest=100)] = 1.0
    end_learning_rate: float = 0.0
    train_minutes: Annotated[float, Bounds(above=0, largest=1e8)] | None = None
    budget_warmup_proportion: Rate = 0.06

    def __post_init__(self):
        self._check_clipnorm()
        check_values(self, "optimizer.")
        for pattern in self.exclude_from_weight_decay:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(
                    f"optimizer.exclude_from_weight_decay holds {shown(pattern)}, which is not a regular "
                    f"expression ({error})."
                ) from None
        self._check_schedule()

    def _check_clipnorm(self):
        norm = self.global_clipnorm
        if norm == math.inf:
            # Infinity is not valid JSON, and 0 * infinity is NaN: so it is recorded as null.
            object.__setattr__(self, "global_clipnorm", None)
            return
        require(
            norm is None or 1e-30 <= norm <= 1e30,
            f"optimizer.global_clipnorm={norm} must lie between 1e-30 and 1e+30; null or Infinity (in TOML: "
            "inf) switches clipping off.",
        )

    def _check_schedule(self):
        require(
            self.decay_power == 1 or self.decay == "polynomial",
            f'optimizer.decay_power={self.decay_power} needs decay="polynomial", not {shown(self.decay)}.',
        )
        require(
            0 <= self.end_learning_rate <= self.learning_rate,
            f"optimizer.end_learning_rate={self.end_learning_rate} must lie between 0 and "
            f"learning_rate={self.learning_rate}.",
        )
        require(
            self.end_learning_rate == 0 or self.decay != "constant",
            f"optimizer.end_learning_rate={self.end_learning_rate} is never reached with "
            'decay="constant"; leave it out.',
        )
        require(
            (self.train_minutes is not None) == (self.decay == "budget"),
            f"optimizer.train_minutes={self.train_minutes} cannot be combined with "
            f'decay={shown(self.decay)}: decay="budget" needs train_minutes, and no other decay uses it.',
        )
        require(
            self.decay == "budget"
            or self.budget_warmup_proportion == OptimizerConfig.budget_warmup_proportion,
            f"optimizer.budget_warmup_proportion={self.budget_warmup_proportion} is for "
            f'decay="budget", not {shown(self.decay)}; leave it out.',
        )

    @property
    def corrects_bias(self) -> bool:
        """Whether Adam's bias correction is used: it corrects the moments for their start at 0."""
        if self.bias_correction is None:
            return self.name != "adam_weight_decay"
        return self.bias_correction
