"""Where the quickstart writes: never over other files, and over its own from the beginning."""

import pytest

from kbert.quickstart import commands, from_raw_text


class Begun(Exception):
    pass


@pytest.fixture(autouse=True)
def no_steps(monkeypatch):
    def begun(sequence, at):
        raise Begun

    monkeypatch.setattr(commands, "make_data", begun)


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="holds other files; choose a new folder for the quickstart."):
        from_raw_text.quickstart(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_quickstart_is_removed(tmp_path):
    for _ in range(2):
        with pytest.raises(Begun):
            from_raw_text.quickstart(tmp_path / "run")
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".kbert_quickstart", "logs"]
        (tmp_path / "run" / "vocab.txt").write_text("of the run before")
