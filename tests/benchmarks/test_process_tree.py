"""A process that is measured does not outlive the one that measures it."""

import subprocess
import sys
import threading

import pytest

from benchmarks.workers import process_tree


def test_time_and_memory_of_a_command_and_its_failure():
    program = "import time; x = bytearray(50_000_000); time.sleep(1)"
    cost = process_tree.run([sys.executable, "-c", program], 1)
    assert 1.0 < cost.seconds < 30.0 and cost.megabytes > 50
    with pytest.raises(ValueError, match=r"-c import sys.* ended with 3: oh no"):
        process_tree.run([sys.executable, "-c", "import sys; print('oh no'); sys.exit(3)"], 1)


def test_an_interrupt_ends_the_process_and_the_watching(monkeypatch):
    started = []

    def interrupted(self, *arguments, **settings):
        started.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        process_tree.run([sys.executable, "-c", "import time; time.sleep(100)"], 1)
    assert started[0].wait(timeout=20) == -9
    assert threading.active_count() == threads
