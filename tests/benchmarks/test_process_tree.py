"""Whole processes: seconds and memory, and what a failed one said."""

import sys

import pytest

from benchmarks.workers import process_tree


def test_time_and_memory_of_a_command_and_its_failure():
    program = "import time; x = bytearray(50_000_000); time.sleep(1)"
    cost = process_tree.run([sys.executable, "-c", program], 1)
    assert 1.0 < cost.seconds < 30.0 and cost.megabytes > 50
    with pytest.raises(ValueError, match=r"-c import sys.* ended with 3: oh no"):
        process_tree.run([sys.executable, "-c", "import sys; print('oh no'); sys.exit(3)"], 1)
