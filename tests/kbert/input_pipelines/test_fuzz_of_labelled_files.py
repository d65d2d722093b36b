"""Whatever a labelled file holds: a good read, or one message. Seeded."""

import gzip
import io
import json
import math
import random

import pyarrow as pa
import pytest
from pyarrow import parquet

from kbert.config import DatasetConfig
from kbert.input_pipelines.label_names import sorted_labels
from kbert.input_pipelines.labelled_files import examples_fingerprint, stream_rows

pytestmark = pytest.mark.slow

NASTY_BYTES = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\r", b"\n", b"\t", b'"'),
    *(b'\\"', b"\\ud800", b"null", b"true", b"NaN", b"1e999", b"-1", b"[" * 20_000, b'{"a":' * 20_000, b","),
    *(b"9" * 5000, b"\x1f\x8b", b"\x85", b"\xe2\x80\xa8", b"{}", b"[]", b'""', b": ", b"label", b"text"),
]
NASTY_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 1 << 31, 1 << 40, 1 << 70, 0.5, 1e300, math.nan, math.inf),
    *("", "a", "..", "../other", "/etc/passwd", "\ud800", "\0", "x" * 300, "int32", "float32", "string"),
    *([], {}, [None], [[]], {"a": {}}, [1, 2], ["a", "a"], {"dtype": "int32", "shape": [3]}, [1 << 33], [-1]),
]


def change_bytes(content: bytes, rng) -> bytes:
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((0, 1, 1, 3, 30)))
        change = rng.randrange(4)
        if change == 0:
            content = content[:start] + rng.choice(NASTY_BYTES) + content[end:]
        elif change == 1:
            content = content[:start] + rng.randbytes(end - start) + content[end:]
        elif change == 2:
            content = content[:start] + content[end:]
        else:
            content = content[:end] + content[start:]
    return content


def require_one_message(error):
    message = str(error)
    lines = message.split("\n")
    assert 10 < len(message) and max(map(len, lines)) < 2000 and len(lines) < 30, repr(message[:500])
    assert all(line.startswith("  ") for line in lines[1:]), repr(message[:500])


# ------------------------------------------------------------------------------ labelled files

TABLE = [("play the a", "walks", "1"), ('said "so"', "", "yes"), ("ü 😀 的", "talk, ask", "no")] * 3


def table(kind, rng):
    if kind.startswith("jsonl"):
        rows = [{"text": first, "pair": second, "label": label} for first, second, label in TABLE]
        rows[rng.randrange(len(rows))][rng.choice(("text", "pair", "label"))] = rng.choice(NASTY_VALUES)
        content = "\n".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in rows)
        return content.encode("utf-8", "surrogatepass")
    if kind in ("parquet", "arrow"):
        return packed_table(kind)
    separator = {"tsv": "\t", "csv": ","}[kind[:3]]
    cells = [("text", "pair", "label"), *TABLE]
    if kind.startswith("csv"):
        cells = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in cells]
    return "\n".join(separator.join(row) for row in cells).encode("utf-8")


def packed_table(kind):
    columns = dict(zip(("text", "pair", "label"), zip(*TABLE, strict=True), strict=True))
    rows, sink = pa.table({name: list(values) for name, values in columns.items()}), io.BytesIO()
    if kind == "parquet":
        parquet.write_table(rows, sink)
    else:
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=4)
    return sink.getvalue()


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "tsv.gz", "jsonl.gz", "parquet", "arrow"])
def test_labelled_files(tmp_path, kind):
    rng = random.Random(f"labelled {kind}")
    path, num_read = tmp_path / f"rows.{kind}", 0
    for number in range(50):
        content = table(kind, rng)
        content = change_bytes(content, rng) if number % 7 else content
        if kind.endswith(".gz"):
            content = gzip.compress(content)
            content = change_bytes(content, rng) if number % 3 == 0 else content
        path.write_bytes(content)
        dataset = rng.choice(
            (DatasetConfig(), DatasetConfig(text_pair="pair"), DatasetConfig(labels=("no",)))
        )
        with_labels = rng.random() < 0.8
        try:
            rows = list(stream_rows(path, dataset, with_labels))
        except (ValueError, OSError) as error:
            require_one_message(error)
            continue
        num_read += 1
        assert rows and len(examples_fingerprint(rows)) == 64
        for row in rows:
            for cell in row:
                assert cell is None or cell.encode("utf-8").decode("utf-8") == cell
            assert (row.label is not None and row.label.strip() != "") == with_labels
            assert (row.text_pair is not None) == bool(dataset.text_pair)
        if with_labels:
            assert set(sorted_labels(row.label for row in rows)) == {row.label for row in rows}
    assert 3 < num_read < 47, "some are to be read, and some are not"
