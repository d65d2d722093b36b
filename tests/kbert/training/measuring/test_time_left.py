"""The time left, against trainings whose whole length is known."""

from kbert.training.measuring.time_left import TimeLeft

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


def test_the_first_estimate_comes_once_after_five_seconds_of_steps_and_not_after_an_interval():
    left = TimeLeft(100, 0)
    left.steps_done(2, 60.0)  # the first call compiles
    assert left.first_estimate() is None
    left.steps_done(4, 4.0)
    assert left.first_estimate() is None
    left.steps_done(6, 4.0)
    assert left.first_estimate() == (94 * 2.0, 0.5)
    assert left.first_estimate() is None

    left = TimeLeft(100, 0)
    left.steps_done(2, 60.0)
    left.steps_done(4, 1.0)
    left.interval_done()
    left.steps_done(50, 30.0)
    assert left.first_estimate() is None
