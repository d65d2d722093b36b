"""The copies of the corpus, and the speed of what came on top."""

import glob
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import pretraining_data


def test_marginal_speed_leaves_out_the_start():
    """Three seconds of starting, then 10 bytes a second, twice as fast from the fifth copy on."""
    seconds = [3 + 2, 3 + 8, 3 + 8 + 12]
    assert pretraining_data.marginal_speeds(20, [1, 4, 16], seconds) == pytest.approx([10, 20])


def test_copies_hold_every_file_so_many_times(tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.txt").write_text(folder)
    flags = SimpleNamespace(input_files=f"{tmp_path}/*/same.txt")
    monkeypatch.setattr(pretraining_data, "FLAGS", flags)
    files = glob.glob(pretraining_data.write_copies(tmp_path, 3))
    assert sorted(Path(file).read_text() for file in files) == ["a"] * 3 + ["b"] * 3


def test_copies_must_ascend():
    assert pretraining_data.checked_copies(["4", "16"]) == [4, 16]
    for wrong in (["1"], ["16", "4"], ["4", "4"], ["many"]):
        with pytest.raises(ValueError, match="must be ascending numbers above 1"):
            pretraining_data.checked_copies(wrong)
