"""metrics.jsonl outlives full disks and damage."""

import errno
import os

import pytest

from kbert.runs.metrics_file import MetricsFile, read_metrics
from tests.kbert.training.failing_disk import FailingDisk


def line(step, split="train", **values):
    return {"step": step, "split": split} | values


@pytest.fixture
def metrics_file(tmp_path):
    return MetricsFile(tmp_path / "metrics.jsonl")


def test_a_line_that_cannot_be_written_waits_and_leaves_no_half(metrics_file, monkeypatch, caplog):
    metrics_file.append(line(1))
    with FailingDisk(metrics_file.path.parent, fail_at=1, code=errno.EIO).at_work(monkeypatch):
        metrics_file.append(line(2, loss=1.0))
        assert read_metrics(metrics_file.path) == [line(1)] and metrics_file.path.read_bytes().endswith(b"\n")
        metrics_file.append(line(3))
    assert read_metrics(metrics_file.path) == [line(1), line(2, loss=1.0), line(3)]
    assert f"METRICS NOT WRITTEN ({os.strerror(errno.EIO)}): 1 line(s) are kept" in caplog.text


def test_a_copy_made_of_hard_links_gets_no_lines_of_the_run(metrics_file, tmp_path):
    metrics_file.append(line(1))
    os.link(metrics_file.path, tmp_path / "copy.jsonl")
    metrics_file.append(line(2))
    assert read_metrics(metrics_file.path) == [line(1), line(2)]
    assert read_metrics(tmp_path / "copy.jsonl") == [line(1)]


@pytest.mark.parametrize(
    "damaged",
    [b"\0\0\0", b"{}", b"[1]", b'{"step": "1", "split": "train"}', b'{"step": 2', b"\xff", b"[" * 9999],
)
def test_lines_that_hold_no_metrics_are_left_out_by_number(metrics_file, caplog, damaged):
    metrics_file.append(line(1))
    with metrics_file.path.open("ab") as file:
        file.write(damaged + b"\n")
    metrics_file.append(line(3))
    assert read_metrics(metrics_file.path) == [line(1), line(3)]
    assert "1 damaged line(s) left out: 2" in caplog.text


def test_a_half_written_last_line_is_what_a_kill_leaves(metrics_file, caplog):
    metrics_file.append(line(1))
    with metrics_file.path.open("ab") as file:
        file.write(b'{"step": 2, "spl')
    assert read_metrics(metrics_file.path) == [line(1)] and not caplog.text


def test_a_resume_finds_what_is_gone_and_writes_the_best_anew(metrics_file, caplog):
    for step in (2, 4, 6):
        metrics_file.append(line(step))
        metrics_file.append(line(step, "eval", loss=0.1 * step))
    metrics_file.restore(4, 3, (2, {"loss": 0.2}))
    whole = [line(2), line(2, "eval", loss=0.2), line(4), line(4, "eval", loss=0.4)]
    assert read_metrics(metrics_file.path) == whole and not caplog.text
    metrics_file.path.unlink()
    metrics_file.restore(4, 3, (2, {"loss": 0.2}))
    assert read_metrics(metrics_file.path) == [line(2, "eval", loss=0.2)]
    assert "3 of the 3 lines from before step 4 are missing" in caplog.text
