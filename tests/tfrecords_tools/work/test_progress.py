import logging

from tfrecords_tools.work.progress import Progress


def test_progress_tells_speed_and_time_left(caplog):
    seconds = iter([0.0, 2.0, 10.0, 12.0, 20.0])
    with caplog.at_level(logging.INFO, logger="absl"):
        progress = Progress("Wrote", "examples", 4000, clock=lambda: next(seconds))
        for done in (500, 1000, 1100):
            progress.report(done)
        progress.report_end()
    assert caplog.messages == [
        "Wrote 1,000 examples of 4,000 examples (25 %), about 30 s left, 100 examples/s.",
        "Wrote 1,100 examples in 20.0 s, 55 examples/s.",
    ]


def test_progress_of_an_unknown_total_tells_the_speed(caplog):
    seconds = iter([0.0, 10.0])
    with caplog.at_level(logging.INFO, logger="absl"):
        Progress("Tokenised", "bytes", None, clock=lambda: next(seconds)).report(25_000_000)
    assert caplog.messages == ["Tokenised 25.0 MB, 2.5 MB/s."]


def test_what_an_earlier_run_did_does_not_count_for_the_speed(caplog):
    seconds = iter([0.0, 10.0, 20.0])
    with caplog.at_level(logging.INFO, logger="absl"):
        progress = Progress("Wrote", "examples", 4000, already_done=2000, clock=lambda: next(seconds))
        progress.report(3000)
        progress.report(4000)
    assert caplog.messages == [
        "Wrote 3,000 examples of 4,000 examples (75 %), about 10 s left, 100 examples/s.",
        "Wrote 4,000 examples of 4,000 examples (100 %), about 0 s left, 100 examples/s.",
    ]
