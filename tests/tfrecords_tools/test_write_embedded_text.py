"""The embedded text as files: written whole or not at all, the same bytes each time."""

import subprocess
from pathlib import Path

import pytest

from tests.tfrecords_tools.corpus.embedded_text.small_library import write_small_library
from tfrecords_tools import write_embedded_text


@pytest.fixture
def small_library(tmp_path):
    return write_small_library(tmp_path)


def test_the_same_library_gives_the_same_bytes(small_library, tmp_path):
    for name in ("once", "twice"):
        write_embedded_text.write_embedded_text(small_library, tmp_path / name)
    files = [_read_all(tmp_path / name) for name in ("once", "twice")]
    assert files[0] == files[1]
    assert set(files[0]) == write_embedded_text._FILES
    assert files[0]["text/train.txt"].endswith(b"at the same time.\n\n")
    assert files[0]["labelled/train.tsv"] == b"sentence\tlabel\tmodule\n"


def test_an_occupied_folder_is_refused(small_library, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match=r"did not write \(thesis\.txt\).*Choose another folder"):
        write_embedded_text.write_embedded_text(small_library, tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"


def test_an_earlier_output_is_replaced_only_when_asked(small_library, tmp_path):
    out = tmp_path / "out"
    write_embedded_text.write_embedded_text(small_library, out)
    (out / "text" / "train.txt").write_text("changed")
    with pytest.raises(ValueError, match="Add --overwrite"):
        write_embedded_text.write_embedded_text(small_library, out)
    write_embedded_text.write_embedded_text(small_library, out, overwrite=True)
    assert (out / "text" / "train.txt").read_text() != "changed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out"]


@pytest.mark.parametrize("with_earlier_output", [False, True])
def test_a_failed_write_leaves_everything_as_it_was(
    small_library, tmp_path, monkeypatch, with_earlier_output
):
    out = tmp_path / "out"
    if with_earlier_output:
        write_embedded_text.write_embedded_text(small_library, out)
    before = _read_all(tmp_path)

    def disk_is_full(summary):
        raise OSError("No space left on device")

    monkeypatch.setattr(write_embedded_text, "_readme", disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        write_embedded_text.write_embedded_text(small_library, out, overwrite=True)
    assert _read_all(tmp_path) == before


def test_the_library_is_never_written_into(small_library, tmp_path):
    (tmp_path / "link").symlink_to(small_library)
    before = _read_all(small_library)
    for output_dir in (small_library / "text", tmp_path / "link" / "text", small_library, tmp_path):
        with pytest.raises(ValueError, match="the input|lies in the output folder"):
            write_embedded_text.write_embedded_text(small_library, output_dir, overwrite=True)
    assert _read_all(small_library) == before


def test_what_a_killed_run_has_left_goes_away(small_library, tmp_path):
    number = subprocess.Popen(["true"])
    number.wait()
    left = tmp_path / f"out.{number.pid}.0123abcd.tmp"
    left.mkdir()
    write_embedded_text.write_embedded_text(small_library, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out"]


def _read_all(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
