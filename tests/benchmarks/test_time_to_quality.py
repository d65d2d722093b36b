"""Time to quality: curves over a contestant's own seconds, and turns of equal length."""

from benchmarks.workers.on_the_clock import LossByTime


def steps(seconds, losses):
    return [
        {"seconds": s, "cpu_seconds": 2 * s, "masked_lm_loss": v}
        for s, v in zip(seconds, losses, strict=True)
    ]


def test_a_loss_is_the_mean_of_the_last_steps_that_had_ended():
    found = LossByTime(steps([5.0, 1.0, 1.0, 1.0], [8.0, 6.0, 4.0, 3.0]), window=2)
    assert [found.at(t) for t in (4.9, 5.0, 6.5, 7.0, 100)] == [None, 8.0, 7.0, 5.0, 3.5]
    # The first step, which compiles, counts; a mean of fewer steps than the window reaches nothing.
    assert found.seconds_to(7.5) == 6.0 and found.seconds_to(5.0) == 7.0 and found.seconds_to(3.4) is None
