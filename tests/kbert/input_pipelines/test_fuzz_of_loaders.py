"""Whatever a labelled file or a folder of records holds: a good read, or one sentence. Seeded."""

import contextlib
import copy
import gzip
import io
import json
import math
import random
import shutil

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from pyarrow import parquet

from kbert.config import DatasetConfig
from kbert.input_pipelines.labelled_files import fingerprint_of, labels_of, read_rows
from kbert.input_pipelines.records.labelled_records import LabelledRecords
from kbert.input_pipelines.records.pretraining_records import PretrainingRecords
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary
from kbert.input_pipelines.records.shards import open_shard
from kbert.manifest import FILE_NAME, _checksum
from kbert.tasks import TASKS
from tfrecords_tools.check_records import check_records
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.show_records import show_records

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


def require_one_sentence(error):
    message = str(error)
    assert 10 < len(message) < 2000 and len(message.splitlines()) == 1, repr(message[:500])


# ------------------------------------------------------------------------------ labelled files

TABLE = [("play the a", "walks", "1"), ('said "so"', "", "yes"), ("ü 😀 的", "talk, ask", "no")] * 3

DATASETS = (DatasetConfig(), DatasetConfig(text_pair="pair"), DatasetConfig(labels=("1", "yes", "no")))


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
            rows = read_rows(path, dataset, with_labels)
        except (ValueError, OSError) as error:
            require_one_sentence(error)
            continue
        num_read += 1
        assert rows and len(fingerprint_of(rows)) == 64
        for row in rows:
            for cell in row:
                assert cell is None or cell.encode("utf-8").decode("utf-8") == cell
            assert (row.label is not None and row.label.strip() != "") == with_labels
            assert (row.text_pair is not None) == bool(dataset.text_pair)
        if with_labels:
            assert set(labels_of(row.label for row in rows)) == {row.label for row in rows}
    assert 3 < num_read < 47, "some are to be read, and some are not"


# ------------------------------------------------------------------------------ records


def read_all(directory, kind):
    """Reads a folder in every way there is; what comes out is in its range."""
    if kind == "pretraining":
        records, more = PretrainingRecords(directory), ()
    else:
        records, more = LabelledRecords(directory, TASKS["sequence_classification"], 16), (False,)
    vocabulary = read_vocabulary(directory, records.manifest)
    with records.naming_damaged_records():
        for batch in records.evaluation_batches(7, *more):
            for name in ("input_ids", "masked_lm_ids"):
                values = batch.get(name, np.zeros(1, np.int32))
                assert np.all((0 <= np.asarray(values)) & (np.asarray(values) < len(vocabulary)))
            for value in batch.values():
                assert np.isfinite(np.asarray(value, np.float64)).all()


def require_good_or_one_sentence(directory, kind, read=read_all) -> bool:
    for function in (lambda: read(directory, kind), lambda: checked_and_shown(directory)):
        try:
            function()
        except (ValueError, OSError) as error:
            require_one_sentence(error)
            return False
    return True


def checked_and_shown(directory):
    with contextlib.redirect_stdout(io.StringIO()):
        check_records(directory)
        show_records(directory, 2)


@pytest.fixture(params=["pretraining", "labelled"])
def stored(request, tmp_path, records_dir, labelled_files):
    directory = tmp_path / "records"
    if request.param == "pretraining":
        shutil.copytree(records_dir / "heldout", directory)
    else:
        create_finetuning_data(
            "configs/finetuning/smoke.toml",
            labelled_files[1],
            directory,
            vocab_file=records_dir / "heldout" / "vocab.txt",
            max_seq_length=16,
        )
    return request.param, directory, random.Random(f"records {request.param}")


def change_value(values, rng):
    """Changes, removes or adds one value somewhere in a tree."""
    values = copy.deepcopy(values)
    place = values
    while True:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.15:
            break
        place = inner
    change = rng.randrange(5)
    if change == 0:
        del place[key]
    elif change == 1 and isinstance(place, dict):
        place[rng.choice(("more", "format_version", "num_bytes", "sha256"))] = rng.choice(NASTY_VALUES)
    elif change == 1:
        place.append(copy.deepcopy(inner))
    else:
        place[key] = rng.choice(NASTY_VALUES)
    return values


def test_manifests(stored):
    kind, directory, rng = stored
    path = directory / FILE_NAME
    whole, num_good = json.loads(path.read_text()), 0
    for number in range(30):
        if number % 5:
            changed = change_value(whole, rng)
            changed["checksum"] = _checksum(changed)  # else this alone would find every change
            path.write_text(json.dumps(changed))
        else:
            path.write_bytes(change_bytes(json.dumps(whole).encode(), rng))
        num_good += require_good_or_one_sentence(directory, kind)
    assert 0 < num_good < 30, "some changes do no harm, and some do"


def test_shards(stored):
    kind, directory, rng = stored
    paths = sorted(directory.glob("*.tfrecord"))
    whole = {path: path.read_bytes() for path in paths}
    for _ in range(10):
        path = rng.choice(paths)
        path.write_bytes(change_bytes(whole[path], rng))
        require_good_or_one_sentence(directory, kind)
        path.write_bytes(whole[path])


def test_records_that_agree_with_their_crc(stored):
    kind, directory, rng = stored
    path = min(directory.glob("*.tfrecord"))
    records = list(open_shard(path).as_numpy_iterator())
    for _ in range(10):
        changed = list(records)
        number = rng.randrange(len(changed))
        changed[number] = change_bytes(changed[number], rng)
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in changed:
                writer.write(record)
        require_good_or_one_sentence(directory, kind)
