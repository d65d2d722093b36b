"""Every command takes a file for the same format, by its ending and its first bytes."""

import bz2
import gzip
import json
import lzma

import pytest
from backports import zstd

from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, ENDINGS, TABLES
from kbert.inference.answer_files import find_format
from kbert.input_pipelines.labelled_files import read_rows
from kbert.input_pipelines.unlabelled_files import examples_of_file, texts_and_pairs
from kbert.runs.columns_of_run import count_inputs_of_run
from kbert.tasks.token_classification.tagged_sentences import read_tagged_sentences
from tfrecords_tools.corpus.corpus_files import input_files
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_documents
from tfrecords_tools.corpus.problems import Problems

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = ["a film", "the film"]
ROWS = [{"text": text, "label": "x"} for text in TEXTS]
PACKINGS = {
    "": bytes,
    ".gz": gzip.compress,
    ".BZ2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def table(file_format):
    stream, rows = pa.BufferOutputStream(), pa.Table.from_pylist(ROWS)
    if file_format == "parquet":
        parquet.write_table(rows, stream)
    else:
        with pa.ipc.new_file(stream, rows.schema) as writer:
            writer.write_table(rows)
    return stream.getvalue().to_pybytes()


CONTENTS = {
    "tsv": b"text\tlabel\na film\tx\nthe film\tx\n",
    "csv": b"text,label\na film,x\nthe film,x\n",
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    **{name: table(name) for name in TABLES},
}


def corpus(path):
    units = plan_units(input_files(path), 1 << 20)
    documents = [document for unit in units for document in read_documents(unit, TextFormat(), Problems())]
    return [line.decode() for document in documents for line in document]


def number(count):
    return lambda path: [*TEXTS] if count(path) == len(TEXTS) else []


READERS = {
    "labelled file": lambda path: [row.text for row in read_rows(path, DatasetConfig())],
    "tagged words": lambda path: [
        " ".join(sentence.words) for sentence in read_tagged_sentences(path, DatasetConfig(), False)
    ],
    "inputs before the model is read": number(lambda path: count_inputs_of_run(path, path.parent / "none")),
    "inputs": lambda path: [example["text"] for example in examples_of_file(path, [("text",)])],
    "texts of features": lambda path: [text for text, _ in texts_and_pairs(path)],
    "corpus": corpus,
}
# What a reader says of a format that it does not take; CoNLL's columns have no header.
REFUSALS = {
    **{("corpus", name): "is a table" for name in (*DELIMITED, *TABLES)},
    ("tagged words", "tsv"): "looks like a header",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_is_the_same_format_everywhere(tmp_path, reader, ending):
    file_format = ENDINGS[ending]
    for packing, pack in PACKINGS.items():
        is_packed_table = packing and file_format in TABLES
        for name in (f"a{ending}{packing}", f"A{ending.upper()}{packing.swapcase()}"):
            path = tmp_path / name
            path.write_bytes(pack(CONTENTS[file_format]))
            refusal = "unpack it" if is_packed_table else REFUSALS.get((reader, file_format))
            if refusal:
                with pytest.raises(ValueError, match=f"{name} .*{refusal}"):
                    READERS[reader](path)
            else:
                assert READERS[reader](path) == TEXTS, name


@pytest.mark.parametrize("ending", ENDINGS)
def test_answers_are_written_in_the_format_of_the_ending(tmp_path, ending):
    for packing in PACKINGS:
        if ENDINGS[ending] in TABLES:
            with pytest.raises(ValueError, match="the ending says the format"):
                find_format(f"a{ending}{packing}")
        else:
            assert find_format(f"a{ending.upper()}{packing}") == ENDINGS[ending]


OTHERS = {
    "a web page": (b"<!DOCTYPE html><html>", ("a.csv", "a.jsonl", "a.txt", "a.csv.gz"), "a page of the web"),
    "parquet": (CONTENTS["parquet"], ("a.csv", "a.jsonl", "a.txt", "a.json.zst"), "a table .parquet"),
    "an archive": (b"PK\x03\x04", ("a.csv", "a.zip", "a.txt"), "a zip archive"),
    "a list": (json.dumps(ROWS).encode(), ("a.json", "a.jsonl"), "one JSON value"),
    "a list in lines": (json.dumps(ROWS, indent=1).encode(), ("a.json", "a.jsonl.xz"), "one JSON value"),
}


@pytest.mark.parametrize("reader", [name for name in READERS if not name.startswith("rows")])
@pytest.mark.parametrize("kind", OTHERS)
def test_another_content_is_refused_everywhere(tmp_path, reader, kind):
    content, names, message = OTHERS[kind]
    for name in names:
        path = tmp_path / name
        path.write_bytes(PACKINGS.get(path.suffix, bytes)(content))
        with pytest.raises(ValueError, match=f"{name} .*{message}"):
            READERS[reader](path)


@pytest.mark.parametrize("reader", [name for name in READERS if name != "corpus"])
def test_another_content_of_a_table_is_refused_everywhere(tmp_path, reader):
    for name, content, message in [
        ("a.parquet", CONTENTS["arrow"], "a table .arrow"),
        ("a.arrow", CONTENTS["parquet"], "a table .parquet"),
        ("b.parquet", b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} .*{message}"):
            READERS[reader](tmp_path / name)
