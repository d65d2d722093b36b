"""A pretraining, and the phases that it may have."""

import dataclasses
import operator
from dataclasses import dataclass

from kbert.checks import Steps, require
from kbert.config.training_config import TrainingConfig
from kbert.files.json_values import shown


@dataclass(frozen=True)
class PhaseConfig:
    """The settings that one phase of a pretraining changes; null keeps the run's own setting.

    Each phase has its own records, and its own warm-up (`num_warmup_steps`) and decay over its own
    `num_train_steps`. `learning_rate` is its peak. `train_batch_size` and `gradient_accumulation_steps` are
    those of the run, for this phase.
    `fresh_optimizer` sets the moments and the count of updates back to 0, as in the original recipe, which
    started a second run from the weights of the first. Without it the optimizer continues.
    """

    num_train_steps: int | None = None
    num_warmup_steps: int | None = None
    train_batch_size: int | None = None
    gradient_accumulation_steps: int | None = None
    learning_rate: float | None = None
    fresh_optimizer: bool = False


_PHASE_SETTINGS = {  # the run's setting, by its full name -> a phase's
    "optimizer.learning_rate" if name == "learning_rate" else name: name
    for name in vars(PhaseConfig())
    if name != "fresh_optimizer"
}


@dataclass(frozen=True)
class PretrainingConfig(TrainingConfig):
    """Masked LM + next sentence; lengths come from the records, vocabulary and casing from their manifest.

    `phases`, a list of objects with PhaseConfig's keys, trains several phases one after the other, for
    example with 128 and then with 512 tokens. The step count continues from phase to phase. A phase without
    `num_train_steps` takes the run's.

    The learning rate rises over `num_warmup_steps`. Every `eval_every_steps` steps, and at the end of a
    phase, the run is evaluated, on at most `max_eval_steps` batches; not less than half an interval before
    the end. With `optimizer.decay = "budget"`, `num_train_steps` is the most steps that there may be.

    `task` is the name of a pretraining task; null takes the task that the records were made for.
    """

    task: str | None = None
    num_train_steps: Steps = 100_000
    num_warmup_steps: int = 10_000
    eval_every_steps: Steps = 10_000
    max_eval_steps: Steps = 100
    phases: tuple[PhaseConfig, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        require(
            self.optimizer.decay == "budget" or 0 <= self.num_warmup_steps <= self.num_train_steps,
            f"num_warmup_steps={shown(self.num_warmup_steps)} must lie between 0 and "
            f"num_train_steps={self.num_train_steps}.",
        )
        require(
            not (self.optimizer.decay == "budget" and self.phases),
            'optimizer.decay="budget" ends the run after a time, so it cannot be combined with phases: '
            "leave one of them out.",
        )
        for number, phase in enumerate(self.phases):
            try:
                self.for_phase(phase)
            except ValueError as error:
                raise ValueError(f"phases.{number}: {error}") from None

    def require_settings_read(self):
        """Also refuses a setting that no phase reads, because each has its own."""
        super().require_settings_read()
        for name in _PHASE_SETTINGS:
            if (value := operator.attrgetter(name))(self) != value(type(self)()):
                self.require_read(name)

    def require_read(self, name: str):
        """Also where each phase has its own, and steps of warm-up where time ends the run."""
        require(
            not (name == "num_warmup_steps" and self.num_warmup_steps and self.optimizer.decay == "budget"),
            f'num_warmup_steps={self.num_warmup_steps} is not read with optimizer.decay="budget"; make it 0, '
            "and set optimizer.budget_warmup_proportion instead.",
        )
        if not self.phases or not (own := _PHASE_SETTINGS.get(name)):
            return
        require(
            any(getattr(phase, own) is None for phase in self.phases),
            f"{name}={operator.attrgetter(name)(self)} is read by no phase, because each has its own; leave "
            f"it out, and change phases.0.{own} and so on.",
        )

    def for_phase(self, phase: PhaseConfig) -> "PretrainingConfig":
        """The settings of one phase, as if it were a run of its own."""
        changes = {name: value for name, value in vars(phase).items() if value is not None}
        del changes["fresh_optimizer"]
        if "learning_rate" in changes:
            learning_rate = changes.pop("learning_rate")
            changes["optimizer"] = dataclasses.replace(self.optimizer, learning_rate=learning_rate)
        return dataclasses.replace(self, phases=(), **changes)

    @property
    def phase_configs(self) -> tuple["PretrainingConfig", ...]:
        """The settings of every phase in order; those of the run itself if it has no phases."""
        return tuple(self.for_phase(phase) for phase in self.phases) or (self,)
