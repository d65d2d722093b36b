"""One process to a folder."""

import subprocess
import sys

import pytest

from kbert.files.folder_lock import lock_folder

_HOLDING = """
import sys
from kbert.files.folder_lock import lock_folder
lock = lock_folder(sys.argv[1])
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_has_ended_however_it_ends(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDING, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "locked\n"
    with pytest.raises(BlockingIOError, match=f"another process .process {process.pid} on .* in {tmp_path}"):
        lock_folder(tmp_path)
    process.kill()
    process.communicate()
    with lock_folder(tmp_path):
        pass


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / ".lock").symlink_to(target)
    with pytest.raises(ValueError, match=r"\.lock is a link, expected a file of this folder"):
        lock_folder(tmp_path)
    assert target.read_text() == "precious"
