"""Files and requests of strangers, changed by a fuzzer that sees which code they reach: `make fuzz`.

A reader may end well, or in a ValueError or OSError of one line. Anything else, ten seconds or 4 GB are a
finding: its bytes are build/fuzz/TARGET-crash-... What reached new code stays in build/fuzz/TARGET.

    make fuzz SECONDS=600 TARGETS="torch hdf5"
"""

import argparse
import contextlib
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import atheris

with atheris.instrument_imports(["kbert", "tfrecords_tools", "export"]):
    import numpy as np
    import pyarrow as pa
    import pytest

    from export.gate.saved_model_session import RequestError
    from export.server.json_tensors import TensorFields
    from export.server.routes import open_inference, text_fields
    from kbert.checkpoints import google_tf1
    from kbert.checkpoints.hugging_face import config, sentencepiece_proto, tokenizer, torch_file
    from kbert.checkpoints.report import Report
    from kbert.features import Feature
    from kbert.files import hdf5_file, json_file, safetensors_file, tensorflow_index, text_file
    from kbert.input_pipelines.tables import table_rows
    from kbert.manifest import Manifest, describe_shards, read_manifest
    from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
    from tfrecords_tools.records import stored_records, tfrecord_files
from tests.kbert.checkpoints import foreign_files
from tests.kbert.input_pipelines.tables import written_tables
from tests.kbert.mutations import mutate_json
from tests.kbert.tokenization.small_vocabularies import odd_vocabulary, sentencepiece_model

OUT = Path("build/fuzz")
OUT.mkdir(parents=True, exist_ok=True)
PLACE = Path(tempfile.mkdtemp(prefix="files-", dir=OUT))
ARRAYS = {"a/weight": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(4, np.float32)}
TABLE = written_tables.with_features(
    pa.table({"text": ["a", None], "label": [1, 0], "list": [["b"], []], "time": pa.array([0, 1], "date32")}),
    {"label": {"_type": "ClassLabel", "names": ["p", "q"]}},
)
BODIES = (
    {"input": ["a"], "model": "m", "dimensions": 3, "encoding_format": "base64"},
    {"inputs": {"source_sentence": "a", "sentences": ["b"]}, "parameters": {"truncate": "END"}},
    {"query": "a", "documents": [{"text": "b"}, "c"], "top_n": 1, "rank_fields": ["text"]},
    {"instances": [{"a": 1}, {"a": [{"b64": "YQ=="}]}], "signature_name": "a"},
    {"id": "1", "inputs": [{"name": "a", "shape": [1], "datatype": "FP32", "data": [0.5]}]},
)


class Target(NamedTuple):
    """Files to begin with, the name of the file that is read, its reader, and whether it is JSON."""

    seeds: Sequence[bytes]
    name: str
    read: Callable[[Path], object]
    is_json: bool = False


def written(content, *writers, **settings):
    """What functions of a path write."""
    for write in writers:
        write(PLACE / "seed", content, **settings)
        yield (PLACE / "seed").read_bytes()


def tensors(seeds, name, read) -> Target:
    """A file of tensors: each is read."""

    def read_all(path):
        for tensor in read(path).values():
            array = tensor.read()
            assert array.shape == tensor.shape and (array.dtype == tensor.dtype or not tensor.is_float)

    return Target([*seeds], name, read_all)


def torch():
    writers = (foreign_files.write_torch_zip, foreign_files.write_torch_legacy)
    seeds = written(ARRAYS, *writers, monkeypatch=pytest.MonkeyPatch())
    return tensors(seeds, "pytorch_model.bin", torch_file.read_torch_file)


def tensorflow():
    """Changed indexes get right checksums, so that TensorFlow reads on."""
    foreign_files.write_google(PLACE, ARRAYS)

    def read(path):
        content = bytearray(path.read_bytes())
        with contextlib.suppress(ValueError):
            footer = content[-48:]
            *first, at = tensorflow_index._handle(footer, 0)
            index = tensorflow_index._handle(footer, at)[:2]
            listed = [each for _, each in tensorflow_index._block(bytes(content), *index)]
            for start, size in (first, index, *(tensorflow_index._handle(each, 0)[:2] for each in listed)):
                end = start + size + 1
                content[end : end + 4] = tfrecord_files.masked_checksum(bytes(content[start:end]))
        path.write_bytes(content)
        return google_tf1.read_tensors(path.with_suffix(""), "checkpoint")

    name = "bert_model.ckpt.index"
    return tensors([(PLACE / name).read_bytes()], name, read)


def read_sentencepiece(path):
    sentencepiece_proto.parse_model(SentencePieceVocabulary.from_file(path).model, path)


def tokenizer_json(kind):
    tokenizer.write_tokenizer(PLACE, odd_vocabulary(kind, {}), 16)
    seed = (PLACE / "tokenizer.json").read_bytes()
    for path in PLACE.iterdir():
        path.unlink()
    read = lambda path: tokenizer.read_tokenizer(PLACE, None, Report("hugging_face", "a"))  # noqa: E731
    return Target([seed], "tokenizer.json", read, is_json=True)


def read_config(path):
    config.parse_config(json_file.read_json_object(path), path, Report("hugging_face", "a"))


def configs():
    values = foreign_files.SHAPE | {"model_type": "bert", "id2label": {"0": "a", "1": "b"}}
    seeds = (values, foreign_files.SHAPE | {"model_type": "modernbert", "local_attention": 8})
    return Target([json.dumps(each).encode() for each in seeds], "config.json", read_config, is_json=True)


def table(kind, *writers):
    def read(path):
        columns = table_rows.readable_columns(path, kind)
        assert len(list(table_rows.read_rows(path, kind, columns))) == table_rows.count_rows(path, kind)

    return Target([*written(TABLE, *writers)], f"rows.{kind}", read)


def records():
    features = {"ids": Feature("int32", (4,)), "x": Feature("float32", (2,))}
    columns = {"ids": np.ones((1, 4), np.int32), "x": np.ones((1, 2), np.float32)}
    vocabulary = {"size": 5, "do_lower_case": True, "fingerprint": "0"}

    def read(path):
        path.write_bytes(tfrecord_files.framed([path.read_bytes()])[0])
        Manifest("a", features, describe_shards(PLACE, {path.name: 1}), vocabulary).write(PLACE)
        list(stored_records.read_records(PLACE, read_manifest(PLACE)))

    return Target(tfrecord_files.encode_examples(columns, features), "a.tfrecord", read)


def read_request(path):
    """The body of every path that takes one."""
    known = {**vars(text_fields), **vars(open_inference), "TensorFields": TensorFields}
    for name, kind in known.items():
        if name.endswith("Fields") and name != "RequestFields":
            with contextlib.suppress(RequestError):
                kind.read(path.read_bytes())


TARGETS: dict[str, Callable[[], Target]] = {
    "torch": torch,
    "hdf5": lambda: tensors(written(ARRAYS, foreign_files.write_keras_h5), "a.h5", hdf5_file.read_hdf5),
    "safetensors": lambda: tensors(
        written(ARRAYS, foreign_files.write_safetensors), "a", safetensors_file.read_safetensors
    ),
    "tensorflow": tensorflow,
    "sentencepiece": lambda: Target([sentencepiece_model()], "a.model", read_sentencepiece),
    "wordpiece": lambda: tokenizer_json("wordpiece"),
    "bpe": lambda: tokenizer_json("bpe"),
    "unigram": lambda: tokenizer_json("sentencepiece"),
    "config": configs,
    "parquet": lambda: table("parquet", written_tables.write_parquet),
    "arrow": lambda: table("arrow", written_tables.write_stream, written_tables.write_arrow_file),
    "records": records,
    "text": lambda: Target([b"A house\n"], "a.txt", lambda path: list(text_file.read_lines(path))),
    "gzip": lambda: Target([gzip.compress(b"A\n")], "a.gz", lambda path: list(text_file.read_lines(path))),
    "request": lambda: Target([json.dumps(body).encode() for body in BODIES], "body", read_request, True),
}


def mutate_values(content, most_bytes, seed):
    """Changes values of JSON, and sometimes its bytes."""
    rng = random.Random(seed)
    with contextlib.suppress(ValueError, LookupError, RecursionError):
        if rng.random() < 0.8:
            return mutate_json(content.decode(), rng).encode("utf-8", "surrogatepass")[:most_bytes]
    return atheris.Mutate(content, most_bytes)


def fuzz(name: str, seconds: int):
    """Runs one target; the process ends with it."""
    target, corpus = TARGETS[name](), OUT / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(seed)

    def test(content):
        path = PLACE / target.name
        path.write_bytes(content)
        try:
            target.read(path)
        except (ValueError, OSError) as error:
            is_one_line = str(error).isprintable() and len(str(error)) < 1500
            assert is_one_line and not isinstance(error, UnicodeError), repr(error)

    flags = (f"-max_total_time={seconds}", "-rss_limit_mb=4096", "-timeout=10", f"-artifact_prefix={corpus}-")
    mutator = {"custom_mutator": mutate_values} if target.is_json else {}
    atheris.Setup([sys.argv[0], *flags, str(corpus)], test, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", default=60, type=int)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []])
    given = parser.parse_args()
    if len(given.targets) == 1:
        fuzz(*given.targets, given.seconds)
    command = [sys.executable, "-m", "tests.fuzz", f"--seconds={given.seconds}"]
    sys.exit(any([subprocess.run([*command, name]).returncode for name in given.targets or TARGETS]))
