"""The cores of a process in a container."""

import pytest

from kbert import cores


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ({}, 64),
    ],
)
def test_a_containers_limit_counts(tmp_path, monkeypatch, files, limit):
    monkeypatch.setattr(cores, "_GROUP", tmp_path)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(64)))
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert cores.num_cores() == limit
