"""Learning rates against their formulas in Python, step by step."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import FinetuningConfig, OptimizerConfig, PretrainingConfig, load_config
from kbert.training.optimizers.schedule import make_schedule
from kbert.training.optimizers.time_budget import TimeBudget
from tests.places import REPOSITORY


def original(step, num_train_steps, num_warmup_steps, power=1.0):
    """google-research/bert, optimization.py, `create_optimizer`, in our words; 1 to 0 after the warm-up."""
    return (1.0 - min(step, num_train_steps) / num_train_steps) ** power


def transformers(step, num_train_steps, num_warmup_steps):
    """transformers' `get_linear_schedule_with_warmup`."""
    return max(0.0, (num_train_steps - step) / max(1, num_train_steps - num_warmup_steps))


def cosine(step, num_train_steps, num_warmup_steps):
    progress = min((step - num_warmup_steps) / max(1, num_train_steps - num_warmup_steps), 1.0)
    return (1.0 + math.cos(math.pi * progress)) / 2.0


DECAYS = {
    "linear": ({}, original),
    "square root": ({"decay": "polynomial", "decay_power": 0.5}, lambda *a: original(*a, power=0.5)),
    "square": ({"decay": "polynomial", "decay_power": 2.0}, lambda *a: original(*a, power=2.0)),
    "linear after warm-up": ({"decay": "linear_after_warmup"}, transformers),
    "cosine": ({"decay": "cosine"}, cosine),
    "constant": ({"decay": "constant"}, lambda *a: 1.0),
}


@pytest.mark.parametrize("end", [0.0, 1e-5])
@pytest.mark.parametrize("kind", DECAYS)
def test_learning_rates_are_the_formulas_at_every_step(kind, end):
    settings, remaining = DECAYS[kind]
    end = 0.0 if kind == "constant" else end
    config = OptimizerConfig(learning_rate=3e-4, end_learning_rate=end, **settings)
    for num_train_steps, num_warmup_steps in ((20, 5), (7, 7), (1, 0)):
        schedule = make_schedule(config, num_train_steps, num_warmup_steps)
        for step in range(num_train_steps + 3):
            expected = end + (3e-4 - end) * remaining(step, num_train_steps, num_warmup_steps)
            if step < num_warmup_steps:
                expected = 3e-4 * step / num_warmup_steps
            learning_rate = float(schedule(tf.constant(step, tf.int64)))
            assert learning_rate == pytest.approx(expected, rel=2e-6, abs=1e-10), step


@pytest.mark.parametrize("name", ["pretraining/distilbert", "pretraining/roberta_base", "finetuning/splade"])
def test_recipes_of_pytorch_have_their_peak_at_the_end_of_warm_up(name):
    kind = PretrainingConfig if name.startswith("pretraining") else FinetuningConfig
    optimizer = load_config(kind, REPOSITORY / f"configs/{name}.toml").optimizer
    rate = make_schedule(optimizer, 20, 5)(tf.constant(5, tf.int64))
    assert float(rate) == pytest.approx(optimizer.learning_rate)


class Clock:
    """Seconds that a test sets."""

    now = 1000.0

    def __call__(self):
        return self.now


def budget():
    """A budget of 100 seconds, 10 of which are warm-up."""
    clock = Clock()
    config = OptimizerConfig(
        learning_rate=2.0, decay="budget", train_minutes=100 / 60, budget_warmup_proportion=0.1
    )
    return TimeBudget(config, clock), clock


def learning_rate(schedule):
    return float(schedule(tf.constant(7, tf.int64)))


def test_a_call_takes_a_hundredth_of_a_budget_at_most():
    schedule, clock = budget()
    schedule.start({})
    assert schedule.limit(10) == 1
    for seconds, num_steps, most in ((30, 1, 1), (30.5, 1, 2), (30.75, 3, 10), (40, 0, 10), (50, 10, 1)):
        clock.now = 1000.0 + seconds
        schedule.tick(num_steps)
        assert schedule.limit(10) == most, seconds


def test_a_budget_follows_the_clock_and_ends_with_it():
    schedule, clock = budget()
    schedule.start({})
    rates, left = [], []
    for seconds in (0, 5, 10, 55, 99, 100, 130):
        clock.now = 1000.0 + seconds
        schedule.tick()
        rates.append(learning_rate(schedule))
        left.append(schedule.seconds_left())
    # Source: schedules.py of academic-budget-bert: p / w, then (total - now) / (total - warm-up).
    np.testing.assert_allclose(rates, [0, 1.0, 2.0, 1.0, 2.0 / 90, 0, 0], atol=1e-6)
    assert left == [100, 95, 90, 45, 1, 0, 0]
