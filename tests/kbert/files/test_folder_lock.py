"""One process to a folder."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from kbert.files import folder_lock
from kbert.files.folder_lock import lock_folder, lock_holder, try_lock
from kbert.files.whole_file import write_text

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


def test_a_lock_that_shuts_out_its_own_process_is_none(tmp_path, monkeypatch, caplog):
    """flock of Linux on SMB: whoever else opens the file reads and writes nothing. No file could be made."""
    locked = set()

    def flock(descriptor, operation):
        identity = os.fstat(descriptor).st_ino
        if operation & fcntl.LOCK_EX and identity in locked:
            raise PermissionError(errno.EACCES, "Permission denied")
        (locked.add if operation & fcntl.LOCK_EX else locked.remove)(identity)

    def opening(path, *arguments, **options):
        if os.path.exists(path) and os.stat(path).st_ino in locked:
            raise PermissionError(errno.EACCES, "Permission denied")
        return open(path, *arguments, **options)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(folder_lock, "open", opening, raising=False)
    with lock_folder(tmp_path):
        assert "has no locks: make sure that no other process works there" in caplog.text
        assert not locked
    write_text("text", tmp_path / "file")
    assert not locked and (tmp_path / "file").read_text() == "text"
    with open(tmp_path / "file") as file:
        locked.add(os.fstat(file.fileno()).st_ino)
        assert try_lock(file.fileno()) is False
    assert lock_holder(tmp_path / "none") is None


def test_a_copy_made_of_hard_links_shares_its_lock_and_is_told_the_way_out(tmp_path):
    (tmp_path / "copy").mkdir()
    with lock_folder(tmp_path):
        os.link(tmp_path / ".lock", tmp_path / "copy" / ".lock")
        with pytest.raises(
            BlockingIOError, match=r"copy made of hard links .cp -al., delete .*copy/\.lock\."
        ):
            lock_folder(tmp_path / "copy")
        (tmp_path / "copy" / ".lock").unlink()
        with lock_folder(tmp_path / "copy"):
            pass
