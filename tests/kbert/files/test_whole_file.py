"""A file is whole or absent, and nothing is left beside it."""

import errno
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kbert.cli.script import error_sentence
from kbert.files.json_file import read_json
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import replace_folder, whole_file, whole_folder, write_json, write_text


def test_a_failure_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "corpus.npz"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole_file(path) as aside:
        aside.write_text("ha")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_not_utf_8_is_written_and_read_again(tmp_path):
    """It failed at the end of the work, when the names of the files were to be recorded."""
    name = os.fsdecode(b"caf\xe9.txt")
    write_json({"input_files": [name, "café"]}, tmp_path / "manifest.json")
    assert read_json(tmp_path / "manifest.json") == {"input_files": [name, "café"]}
    with pytest.raises(UnicodeEncodeError):  # of a label, which would be another one
        write_text(name, tmp_path / "labels.txt")
    assert not (tmp_path / "labels.txt").exists()


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_json_holds_no_number_that_other_readers_refuse(number, tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"loss": [number]}, tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_a_link_is_replaced_and_its_file_stays(tmp_path):
    """A copy of a run may be made of links to the run."""
    (tmp_path / "run").mkdir()
    theirs, link = tmp_path / "run" / "metrics.jsonl", tmp_path / "metrics.jsonl"
    theirs.write_text("old")
    link.symlink_to(theirs)
    write_text("new", link)
    assert theirs.read_text() == "old" and link.read_text() == "new" and not link.is_symlink()


def test_a_failure_leaves_no_folder_and_none_of_those_above_it(tmp_path):
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "models" / "new" / "1") as aside:
        (aside / "weights").write_text("ha")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_takes_the_place_of_another_only_if_it_may(tmp_path):
    path = tmp_path / "model"
    for number in (1, 2):
        with whole_folder(path, replace=True) as aside:
            (aside / f"file{number}").touch()
            assert not (path / "file2").exists()
    assert [file.name for file in path.iterdir()] == ["file2"]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError), whole_folder(path) as aside:
        (aside / "file3").touch()
    assert [file.name for file in path.iterdir()] == ["file2"]


def test_what_is_replaced_keeps_its_rights_and_its_owner(tmp_path):
    """Answers on patients were for one pair of eyes until they were written anew."""
    file, folder = tmp_path / "answers.jsonl", tmp_path / "model"
    file.touch(0o600)
    folder.mkdir(0o700)
    owner = 12345 if os.getuid() == 0 else os.getuid()
    os.chown(file, owner, os.getgid())
    with whole_file(file) as aside:
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    with whole_folder(folder, replace=True) as aside:
        assert stat.S_IMODE(aside.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_uid == owner
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    file.chmod(0o464)  # whoever may replace it may write what replaces it
    write_text("new", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o664


def test_a_group_that_cannot_be_given_gets_no_rights(tmp_path, monkeypatch):
    file = tmp_path / "answers.jsonl"
    file.touch()
    file.chmod(0o640)
    if os.getuid() == 0:
        os.chown(file, -1, 12345)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    write_text("new", file)
    assert stat.S_IMODE(file.stat().st_mode) == (0o600 if os.getuid() == 0 else 0o640)


def _fails(patch, name, code, target):
    """`os.rename` or `os.replace` to a name that begins so."""
    call = getattr(os, name)

    def failing(old, new):
        if Path(new).name.startswith(target):
            raise OSError(code, os.strerror(code), old, None, new)
        call(old, new)

    patch.setattr(os, name, failing)


def test_a_file_that_is_mounted_by_itself_is_written_over(tmp_path, monkeypatch):
    """`docker run -v FILE:FILE`: nothing can be renamed to it, and the answers of hours were removed."""
    path = tmp_path / "answers.jsonl"
    path.write_text("older and longer")
    own = path.stat().st_ino
    _fails(monkeypatch, "replace", errno.EBUSY, "answers.jsonl")
    write_text("new", path)
    assert path.read_text() == "new" and path.stat().st_ino == own
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_renamed_stays_where_the_error_says(tmp_path, monkeypatch):
    """The file of another user in /tmp, or one that is immutable, cannot be replaced."""
    path = tmp_path / "answers.jsonl"
    path.write_text("old")
    with monkeypatch.context() as patch:
        _fails(patch, "replace", errno.EPERM, "answers.jsonl")
        for _ in range(2):  # what was kept is no leftover
            with pytest.raises(PermissionError, match=r"so what was written lies in .*\.new") as error:
                write_text("new", path)
    sentence = error_sentence(error.value)
    assert sentence.startswith(f"{path}: Operation not permitted, so what was written lies in {tmp_path}/ans")
    kept = list(tmp_path.glob("answers.jsonl.*.new"))
    assert [file.read_text() for file in kept] == ["new", "new"] and path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3
    write_text("newer", path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_came_with_an_image_is_replaced(tmp_path, monkeypatch):
    """Docker's overlay file system renames none of those. What was new was removed, after all work."""
    path = tmp_path / "model"
    (path / "variables").mkdir(parents=True)
    (path / "variables" / "old").touch()
    _fails(monkeypatch, "rename", errno.EXDEV, "model.old.")
    with whole_folder(path, replace=True) as aside:
        (aside / "new").touch()
    assert list(tmp_path.rglob("*")) == [path, path / "new"]


def test_a_folder_that_cannot_be_renamed_stays_where_the_error_says(tmp_path, monkeypatch):
    path = tmp_path / "new" / "1"
    _fails(monkeypatch, "rename", errno.EMFILE, "1")
    with pytest.raises(OSError, match="Too many open files, so what"), whole_folder(path) as aside:
        (aside / "weights").touch()
    (kept,) = path.parent.iterdir()
    assert kept.name.startswith("1.") and (kept / "weights").exists()


_KILLED = """
import os, signal, sys
from kbert.files.whole_file import whole_file, whole_folder
with {kind}({path!r}) as aside:
    aside.joinpath("half").touch() if aside.is_dir() else aside.write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["whole_file", "whole_folder"])
def test_the_next_writer_removes_what_a_killed_one_left_and_spares_a_living_one(tmp_path, kind):
    path = tmp_path / "name"
    code = _KILLED.format(kind=kind, path=Path(path))
    code = code.replace("PosixPath", "__import__('pathlib').Path")
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    (left,) = tmp_path.glob(f"name.{process.pid}.*.tmp")
    write_text("of another process", tmp_path / "name")
    assert left.exists()  # its writer is alive
    process.kill()
    process.communicate()
    assert left.exists()
    write_text("of a third", tmp_path / "name")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_kill_between_the_two_renames_loses_nothing(tmp_path, is_checked):
    (tmp_path / "model.old.1.0123abcd.tmp").mkdir()
    (tmp_path / "model.old.1.0123abcd.tmp" / "weights").touch()
    if is_checked:  # before any work, so that a tool sees what it would replace
        check_output_folder(tmp_path / "model")
    else:
        with pytest.raises(RuntimeError), whole_folder(tmp_path / "model", replace=True):
            raise RuntimeError
    assert (tmp_path / "model" / "weights").exists()
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_replaces_another_removes_what_a_kill_left_of_the_one_before(tmp_path, is_there):
    for name in ("model.old.1.0123abcd.tmp", "finished", *(["model"] if is_there else [])):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace_folder(tmp_path / "finished", tmp_path / "model")
    assert list(tmp_path.rglob("*")) == [tmp_path / "model", tmp_path / "model" / "finished"]


@pytest.mark.parametrize("kind", [whole_file, whole_folder])
def test_a_name_that_is_taken_is_never_written_through(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir() if kind is whole_folder else elsewhere.write_text("precious")
    (tmp_path / f"name.{os.getpid()}.00000000.tmp").symlink_to(elsewhere)
    with pytest.raises(FileExistsError, match="name"), kind(tmp_path / "name"):
        pass
    assert not (tmp_path / "name").exists() and elsewhere.exists()
