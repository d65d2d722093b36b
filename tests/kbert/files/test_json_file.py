"""JSON that cannot be read gives one sentence."""

import pytest

from kbert.files.json_file import parse_json, read_json


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"9" * 5000, "not valid JSON"),
    ],
)
def test_broken_json_is_named(tmp_path, content, message):
    path = tmp_path / "values.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_json(path)
    assert str(path) in str(caught.value)


def test_a_name_that_stands_twice_is_refused():
    text = '{"a": 1, "b": {"c": 2, "c": 3}}'
    with pytest.raises(ValueError, match="^it is not valid JSON: the name 'c' appears twice.$"):
        parse_json(text, "it")
    assert parse_json('{"a": {"a": 1}}', "it") == {"a": {"a": 1}}
