"""Where a tool may write."""

import errno
import os
from pathlib import Path

import pytest

from kbert.files.file_format import path_problem
from kbert.files.output_path import check_output_file, check_output_folder, require_free_folder, require_local
from kbert.files.whole_file import whole_folder, write_text


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    path = tmp_path / "corpus" / "text.txt"
    path.write_text("a text\n")
    return path


def _spellings(tmp_path, corpus):
    (tmp_path / "link.txt").symlink_to(corpus)
    os.link(corpus, tmp_path / "hard.txt")
    (tmp_path / "linked_folder").symlink_to(corpus.parent)
    return {
        "absolute": corpus,
        "relative": "corpus/text.txt",
        "detour": "corpus/../corpus/./text.txt",
        "link": "link.txt",
        "hard link": "hard.txt",
        "linked folder": "linked_folder/text.txt",
    }


@pytest.mark.parametrize("spelling", ["absolute", "relative", "detour", "link", "hard link", "linked folder"])
def test_an_output_is_never_an_input_however_it_is_spelled(tmp_path, corpus, spelling):
    path = _spellings(tmp_path, corpus)[spelling]

    with pytest.raises(ValueError, match=r"is the input .* itself, which would be lost; choose another name"):
        check_output_file(path, [tmp_path / "missing.txt", corpus], overwrite=True)


def test_an_output_does_not_take_the_name_of_a_file_that_would_be_read(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(ValueError, match="has the name of a file that is read there"):
        check_output_file(tmp_path / "run/../run/chosen.json", [tmp_path / "run/chosen.json"])


def test_an_address_is_no_local_path():
    for path in ("gs://bucket/run", "s3://run", "hf://org/name", Path("gs://bucket/run")):
        with pytest.raises(ValueError, match="^(gs|s3|hf)://[a-z]+(/[a-z]+)? is no path of this machine"):
            require_local(path)
    for path in ("run", "runs/gs://run", "run:1", "a:/run", Path("C:/run"), None):
        require_local(path)
    for path in ("gs://bucket/train.csv", Path("s3://bucket/train.csv")):
        assert "copy it here, or mount its bucket" in path_problem(path)
    assert path_problem("runs/gs:train.csv") == "does not exist"


def test_nothing_is_written_in_an_input_folder(tmp_path, corpus):
    _spellings(tmp_path, corpus)

    for path in ("corpus/new.txt", "corpus/text.txt", "linked_folder/more/new.txt", "link.txt"):
        with pytest.raises(ValueError, match="lies in the input folder corpus"):
            check_output_file(path, ["corpus"], overwrite=True)
    with pytest.raises(ValueError, match="lies in the input folder corpus"):
        check_output_folder("corpus/records", ["corpus"])
    check_output_file("corpus/new.txt", ["corpus/text.txt"])
    check_output_folder("corpus_records", ["corpus"])


def test_a_name_that_has_no_room_for_what_is_written_first_is_refused(tmp_path, monkeypatch):
    """It failed after all work: a file is written under a longer name and renamed."""
    monkeypatch.setattr("os.getpid", lambda: 4194303)  # the largest of Linux
    longest = tmp_path / ("評" * 75 + ".json")
    check_output_file(longest)
    write_text("", longest)
    folder = tmp_path / ("評" * 76 + ".d")
    for _ in range(2):
        check_output_folder(folder)
        with whole_folder(folder, replace=True):
            pass
    for check in (check_output_file, check_output_folder):
        with pytest.raises(ValueError, match="its name has 231 bytes; give one of at most 230"):
            check(tmp_path / ("評" * 77))


def test_an_existing_output_needs_overwrite(tmp_path, corpus):
    (tmp_path / "out.txt").write_text("old")
    (tmp_path / "nowhere.txt").symlink_to(tmp_path / "gone.txt")

    for name in ("out.txt", "nowhere.txt"):
        with pytest.raises(FileExistsError, match=f"output file {name} exists; choose another name"):
            check_output_file(name, [corpus])
        check_output_file(name, [corpus], overwrite=True)
    with pytest.raises(ValueError, match="output file corpus is a directory; name a file in it"):
        check_output_file("corpus", overwrite=True)


def test_a_link_to_itself_is_replaced_as_a_file_and_no_folder(tmp_path, corpus):
    """`resolve` of pathlib raises a RuntimeError for it."""
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileExistsError, match="output file loop exists"):
        check_output_file("loop", [corpus])
    check_output_file("loop", [corpus], overwrite=True)
    with pytest.raises(ValueError, match="loop is a link to itself; remove it, or choose another folder"):
        check_output_folder("loop", [corpus])
    for check in (check_output_file, check_output_folder):
        with pytest.raises(ValueError, match="loop/new cannot be written: .*loop is no folder"):
            check("loop/new", [corpus])


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_device_or_a_pipe_is_no_output(tmp_path, name, overwrite):
    """/dev/null became a file for the whole machine, which the refusal without overwrite had led to."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(ValueError, match="is a device or a pipe, which no file may replace; name a file"):
        check_output_file(tmp_path / name, overwrite=overwrite)


def test_a_folder_to_be_replaced_holds_no_input(tmp_path, corpus):
    (tmp_path / "linked_folder").symlink_to(corpus.parent)

    with pytest.raises(ValueError, match="is the input corpus itself"):
        check_output_folder("linked_folder", ["corpus"])
    for source in (corpus, "linked_folder/text.txt"):
        with pytest.raises(ValueError, match="text.txt lies in the output folder .*, which is replaced"):
            check_output_folder("corpus", [source])


def test_a_folder_is_replaced_if_all_in_it_is_the_tool_s(tmp_path):
    def require(name, overwrite, others=()):
        require_free_folder(tmp_path / name, overwrite, lambda folder: list(others), "an export")

    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name in ("new", "empty"):
        require(name, overwrite=False, others=["what nobody asks for"])
    require(".", overwrite=True)
    with pytest.raises(
        ValueError, match="is not empty; choose a new folder, or replace an export there with"
    ):
        require(".", overwrite=False)
    with pytest.raises(ValueError, match=r"holds what is not an export, such as \['mine'\], and overwrite"):
        require(".", overwrite=True, others=["mine"])
    with pytest.raises(ValueError, match=r"file holds what is not an export, such as \['file'\]"):
        require("file", overwrite=True)


@pytest.mark.parametrize(("check", "what"), [(check_output_file, "file"), (check_output_folder, "folder")])
def test_what_could_not_be_renamed_at_the_end_is_refused_at_once(tmp_path, monkeypatch, check, what):
    """gcsfuse renames no folder that holds a file, other mounts of object stores rename nothing."""
    (tmp_path / "old").mkdir() if what == "folder" else (tmp_path / "old").touch()

    def failing(old, new):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    for path in (tmp_path / "old", tmp_path / "new", tmp_path / "folders" / "above"):
        check(path, **{} if what == "folder" else {"overwrite": True})
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(
            PermissionError, match=f"in {tmp_path}: Too many open files, when a {what} is renamed"
        ):
            check(tmp_path / "folders" / "above")
    assert list(tmp_path.iterdir()) == [tmp_path / "old"]


def test_a_folder_in_which_nothing_can_be_made_is_refused():
    for check in (check_output_file, check_output_folder):
        with pytest.raises(
            PermissionError, match="/proc/no/new cannot be written in /proc: .*; choose another"
        ):
            check(Path("/proc/no/new"))
