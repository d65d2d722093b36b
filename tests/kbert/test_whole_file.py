"""A file is whole or absent, and nothing is left beside it."""

import json

import pytest

from kbert.whole_file import whole_file, write_json, write_text


def test_what_was_written_takes_the_place(tmp_path):
    path = tmp_path / "page.html"
    write_text("old\n", path)
    write_text("new ½\nline\n", path)
    assert path.read_bytes() == "new ½\nline\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "corpus.npz"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole_file(path) as aside:
        aside.write_text("ha")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_absent_until_the_block_ends(tmp_path):
    path = tmp_path / "features.jsonl"
    with whole_file(str(path)) as aside:
        aside.write_text("{}")
        assert not path.exists() and aside.parent == tmp_path
    assert path.read_text() == "{}"


def test_json_that_people_read(tmp_path):
    path = tmp_path / "values.json"
    write_json({"text": "Straße", "numbers": [1, 2.5]}, path)
    assert "Straße" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": "Straße", "numbers": [1, 2.5]}
