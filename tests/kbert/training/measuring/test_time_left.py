"""The time left, against trainings whose whole length is known."""

import logging

import pytest

from kbert.training.measuring.progress import TrainingProgress
from kbert.training.measuring.time_left import TimeLeft
from tests.kbert.training.measuring.test_progress import Clock

CALL = 10  # steps


def estimates(seconds_of_call, num_steps, log_every, eval_every, eval_seconds):
    """(step, estimate, truth) at the end of each interval of a made-up training.

    Args:
      seconds_of_call: function from the number of a call, 0 first, to its seconds.
      eval_seconds: function from the number of an evaluation to its seconds.
    """
    left, now, found = TimeLeft(num_steps, 0), 0.0, []
    for number in range(num_steps // CALL):
        step = (number + 1) * CALL
        left.steps_done(step, seconds_of_call(number))
        now += seconds_of_call(number)
        if step % log_every == 0:
            left.interval_done()
            found.append((step, left.seconds(step), now))
        if step % eval_every == 0 or step == num_steps:
            seconds = eval_seconds(step // eval_every - 1)
            left.paused("evaluation", eval_every, seconds)
            now += seconds
    return [(step, estimate, now - then) for step, estimate, then in found]


def test_the_first_estimate_of_a_training_like_minilms_is_nearly_the_truth():
    """Calls of 1.2 s; one of 28 s, one of 10 s and some of 5 s, as measured on two busy CPU cores."""
    slow = {0: 28.0, 1: 10.0, 6: 5.0, 11: 3.0, 16: 5.0, 27: 4.0}
    made = estimates(lambda n: slow.get(n, 1.2), 300, 50, 100, lambda n: 14.0 if n == 0 else 2.0)
    assert len(made) == 6
    for step, estimate, truth in made[:-1]:
        assert truth / 2 < estimate < truth * 2, step


def test_the_first_call_and_an_evaluation_that_was_not_made_are_not_known():
    made = estimates(lambda n: 30.0 if n == 0 else 1.0, 300, 50, 100, lambda n: 6.0)
    assert [estimate for _, estimate, _ in made] == pytest.approx([25.0, 20.0, 21.0, 16.0, 11.0, 6.0])


def test_evaluations_that_take_most_of_the_time_count():
    made = estimates(lambda n: 1.0, 100, 10, 10, lambda n: 30.0)
    for step, estimate, truth in made[2:]:
        assert estimate == pytest.approx(truth), step
    assert made[1][1] == pytest.approx(8.0 + 9 * 15.0), "half of the first one, which may have compiled"


def test_the_reading_of_the_sums_counts_for_on_a_gpu_it_waits_for_the_steps():
    left = TimeLeft(1000, 0)
    for step in (10, 20, 30, 40):
        left.steps_done(step, 0.01)
    left.steps_done(50, 0.01)
    left.steps_done(50, 7.96)  # the sums are read: the device ends its work
    left.interval_done()
    assert left.seconds(50) == pytest.approx(950 * 8.0 / 40)


def test_a_run_of_one_call_says_nothing_and_its_end_neither(caplog):
    clock = Clock()
    progress = TrainingProgress(None, 30, 8, 0, clock)
    with caplog.at_level(logging.INFO, logger="absl"):
        for step in (10, 20, 30):
            clock.now += 4
            progress.train(step, {"loss": 1.0}, 1e-4)
    assert ["left" in message for message in caplog.messages] == [False, True, False]
    assert caplog.messages[1].startswith("step 20/30  00:04 left  ")


def test_evaluations_and_checkpoints_do_not_count_as_steps(caplog):
    clock = Clock()
    progress = TrainingProgress(None, 100, 8, 0, clock)
    with caplog.at_level(logging.INFO, logger="absl"):
        for step in (10, 20):
            clock.now += 1
            progress.train(step, {"loss": 1.0}, 1e-4)
            with progress.paused("checkpoint", 10):
                clock.now += 2
            with progress.paused("evaluation", 10):
                clock.now += 50
    assert caplog.messages[1].startswith("step 20/100  04:02 left  ")  # 8 s of steps, and 9 times 26 s
