"""Lines without their documents: whatever the units, the same lines as the documents hold."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrecords_tools.corpus.documents import (
    Problems,
    TextFormat,
    plan_units,
    read_documents,
    read_lines_of_unit,
)

SKIP = TextFormat(errors="skip")


def read(function, path, unit_bytes):
    """All lines, and the merged problems, unit by unit."""
    lines, collectors = [], []
    for unit in plan_units([path], unit_bytes):
        collectors.append(Problems())
        lines += [line for some in function(unit, SKIP, collectors[-1]) for line in some]
    return lines, Problems.merge(collectors)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    parts=st.lists(
        st.sampled_from(
            [b"one", b"", b" two ", "\u3000".encode(), b"caf\xe9", "é".encode(), b"a long line, rather"]
        ),
        max_size=12,
    ),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
    beginning=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    unit_bytes=st.integers(1, 40),
)
def test_units_of_any_size_give_the_lines_of_the_documents(
    tmp_path_factory, parts, line_end, beginning, unit_bytes
):
    path = tmp_path_factory.mktemp("corpus") / "a.txt"
    path.write_bytes(beginning + line_end.join(parts))
    whole, problems = read(read_documents, path, 1 << 20)
    lines, found = read(read_lines_of_unit, path, unit_bytes)
    assert lines == whole
    assert found.counts == problems.counts
    assert found.summary() == problems.summary()


@pytest.mark.parametrize("unit_bytes", [1, 10, 1000])
def test_objects_of_json_lines_give_the_lines_of_their_text(tmp_path, unit_bytes):
    path = tmp_path / "a.jsonl"
    path.write_text(
        "\n".join(json.dumps({"text": text}) for text in ("one\n\ntwo", "", "three")), encoding="utf-8"
    )
    assert read(read_lines_of_unit, path, unit_bytes)[0] == [b"one", b"two", b"three"]


def test_a_long_text_without_a_blank_line_comes_in_parts(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a line of running text\n" * 100_000)
    (unit,) = plan_units([path], 1 << 30)
    sizes = [len(lines) for lines in read_lines_of_unit(unit, TextFormat(), Problems())]
    assert sum(sizes) == 100_000 and max(sizes) < 10_000
