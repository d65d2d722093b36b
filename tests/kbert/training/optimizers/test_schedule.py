"""Learning rates against their formulas in Python, step by step."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.optimizers.schedule import make_schedule
from kbert.training.optimizers.time_budget import TimeBudget


def original_rate(init, step, num_train_steps, num_warmup_steps, end=0.0, power=1.0):
    """google-research/bert, optimization.py, `create_optimizer`, in our words."""
    decayed = (init - end) * (1.0 - min(step, num_train_steps) / num_train_steps) ** power + end
    if num_warmup_steps and step < num_warmup_steps:
        return init * step / num_warmup_steps
    return decayed


def cosine_rate(init, step, num_train_steps, num_warmup_steps, end=0.0):
    if step < num_warmup_steps:
        return init * step / num_warmup_steps
    progress = min((step - num_warmup_steps) / max(1, num_train_steps - num_warmup_steps), 1.0)
    return end + (init - end) * (1.0 + math.cos(math.pi * progress)) / 2.0


def linear_rate_after_warmup(init, step, num_train_steps, num_warmup_steps, end=0.0):
    """As a multiplier of the highest rate, as transformers' `get_linear_schedule_with_warmup` has it."""
    if step < num_warmup_steps:
        return init * step / max(1, num_warmup_steps)
    left = max(0.0, (num_train_steps - step) / max(1, num_train_steps - num_warmup_steps))
    return end + (init - end) * left


def constant_rate(init, step, num_train_steps, num_warmup_steps):
    return init * min(1.0, step / num_warmup_steps) if num_warmup_steps else init


RATES = {
    "linear": ({}, original_rate, {}),
    "linear to an end": ({"end_learning_rate": 1e-5}, original_rate, {"end": 1e-5}),
    "square root": ({"decay": "polynomial", "decay_power": 0.5}, original_rate, {"power": 0.5}),
    "square to an end": (
        {"decay": "polynomial", "decay_power": 2.0, "end_learning_rate": 1e-5},
        original_rate,
        {"power": 2.0, "end": 1e-5},
    ),
    "linear after warm-up": ({"decay": "linear_after_warmup"}, linear_rate_after_warmup, {}),
    "linear after warm-up to an end": (
        {"decay": "linear_after_warmup", "end_learning_rate": 1e-5},
        linear_rate_after_warmup,
        {"end": 1e-5},
    ),
    "cosine": ({"decay": "cosine"}, cosine_rate, {}),
    "cosine to an end": ({"decay": "cosine", "end_learning_rate": 1e-5}, cosine_rate, {"end": 1e-5}),
    "constant": ({"decay": "constant"}, constant_rate, {}),
}


@pytest.mark.parametrize(("steps", "warmup"), [(20, 5), (7, 7), (1, 0)])
@pytest.mark.parametrize("kind", RATES)
def test_rates_are_the_formulas_at_every_step(kind, steps, warmup):
    keys, formula, arguments = RATES[kind]
    schedule = make_schedule(OptimizerConfig(learning_rate=3e-4, **keys), steps, warmup)
    taken = np.arange(0, steps + 3, max(1, steps // 100))
    rates = tf.map_fn(schedule, tf.constant(taken, tf.int64), fn_output_signature=tf.float32)
    expected = [formula(3e-4, step, steps, warmup, **arguments) for step in taken]
    np.testing.assert_allclose(rates, expected, rtol=2e-6, atol=1e-10)


class Clock:
    """Seconds that a test sets."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def budget(seconds=100.0, warmup=0.1, end=0.0):
    clock = Clock()
    return TimeBudget(2.0, seconds, warmup, end, clock=clock), clock


def rate(schedule):
    return float(schedule(tf.constant(7, tf.int64)))


def test_a_budget_follows_the_clock_and_ends_with_it():
    schedule, clock = budget()
    schedule.start()
    seen = []
    for seconds in (0, 5, 10, 55, 99, 100, 130):
        clock.now = 1000.0 + seconds
        schedule.tick()
        seen.append((rate(schedule), schedule.is_over()))
    rates, over = zip(*seen, strict=True)
    # Source: schedules.py of academic-budget-bert: p / w, then (total - now) / (total - warm-up).
    np.testing.assert_allclose(rates, [0, 1.0, 2.0, 1.0, 2.0 / 90, 0, 0], atol=1e-6)
    assert over == (False, False, False, False, False, True, True)


def test_a_resumed_budget_goes_on_from_the_seconds_used():
    first, clock = budget()
    first.start()
    clock.now += 40
    first.tick()
    state = first.state()
    assert state == {"seconds_used": 40.0}

    second, clock = budget()
    clock.now = 99_000.0  # another process, another day
    second.restore(state)
    assert rate(second) == rate(first)
    second.start()
    assert second.state() == state
    clock.now += 59
    second.tick()
    assert not second.is_over() and rate(second) == pytest.approx(2.0 / 90, rel=1e-4)
    clock.now += 1
    second.tick()
    assert second.is_over()
