"""Standard input -> JSON lines of pieces."""

import json
import subprocess
import sys

import pytest

from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary
from tests.places import REPOSITORY
from tfrecords_tools import tokenize_text
from tfrecords_tools.tokenize_text import read_texts, tokenized_lines

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "é", "e", "的"], True)


def test_lines_lose_their_ends_and_a_byte_order_mark_as_in_every_command():
    lines = [b"\xef\xbb\xbf a \r\n", b"\n", "\ufeff\u2028b\x85\r\r\n".encode(), b"last"]
    assert list(read_texts(lines, "text")) == [" a ", "", "\ufeff\u2028b\x85\r", "last"]


def test_json_lines_give_their_text():
    lines = [b'\xef\xbb\xbf{"text": "a\\nb", "label": 1}\r\n', b"\n", '{"text": "é"}'.encode()]
    assert list(read_texts(lines, "jsonl")) == ["a\nb", "é"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"not json", "line 2 is not valid JSON"),
        (b'{"text": "cut', "line 2 is not valid JSON"),
        (b'["text"]', r"line 2: expected an object with a string `text`, received \[\"text\"\]"),
        (b'{"txt": "a"}', "line 2: expected an object with a string `text`"),
        (b'{"text": 5}', "line 2: expected an object with a string `text`"),
    ],
)
def test_a_bad_json_line_is_named_by_number(line, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(read_texts([b'{"text": "a"}\n', line], "jsonl"))


@pytest.mark.parametrize("file_format", ["text", "jsonl"])
@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        ("cp1252", r"line 2 is not UTF-8 \(byte 0xe9\); convert it, for example: iconv -f CP1252 .*'.*café"),
        ("utf-16", r"line 1 is not UTF-8 \(byte 0xff\); convert it, for example: iconv -f UTF-16 "),
    ],
)
def test_other_encodings_are_refused(file_format, encoding, sentence):
    content = '{"text": "a"}\n{"text": "café"}\n'.encode(encoding)
    with pytest.raises(ValueError, match=sentence):
        list(read_texts(content.splitlines(keepends=True), file_format))


@pytest.mark.parametrize(("batch_size", "in_python"), [(1, 9), (2, 100), (512, 100), (512, 0)])
def test_each_text_has_its_line_in_order(monkeypatch, batch_size, in_python):
    """The first in Python, the others in the graph; all in one of them."""
    monkeypatch.setattr(tokenize_text, "_BYTES_IN_PYTHON", in_python)
    lines = list(tokenized_lines(["Playing", "", "é 的"], VOCABULARY, batch_size))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert [json.loads(line) for line in lines] == [
        {"text": "Playing", "ids": [5, 6], "tokens": ["play", "##ing"]},
        {"text": "", "ids": [], "tokens": []},
        {"text": "é 的", "ids": [8, 9], "tokens": ["e", "的"]},
    ]
    assert "的".encode() in lines[2]  # readable, not escaped


def test_a_few_lines_need_no_tensorflow(tmp_path):
    VOCABULARY.write(tmp_path / "vocab.txt")
    program = "import sys; sys.modules['tensorflow'] = None; from kbert.cli.commands import main; main()"
    command = [sys.executable, "-c", program, "tokenize", f"--vocab_file={tmp_path / 'vocab.txt'}"]
    printed = subprocess.run(
        command, cwd=REPOSITORY, input=b"Playing", stdout=subprocess.PIPE, check=True
    ).stdout
    assert json.loads(printed)["ids"] == [5, 6]


# ------------------------------------------------------------------------------ the script


def start_script(*arguments):
    command = [sys.executable, "-m", "tfrecords_tools.tokenize_text", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=REPOSITORY, **pipes)


@pytest.mark.slow
@pytest.mark.long
def test_the_script_takes_the_tokenizer_of_a_folder(tmp_path):
    vocabulary = bpe_vocabulary([("Ġ", "a"), ("u", "e")])
    write_tokenizer(tmp_path, vocabulary)
    with start_script(f"--tokenizer={tmp_path}", "--format=jsonl") as process:
        output, errors = process.communicate(b'{"text": "blue a<mask>"}\n', timeout=120)
    assert process.returncode == 0, errors
    row = json.loads(output)
    assert row["tokens"] == ["b", "l", "ue", "Ġa", *"<mask>"]
    assert row["ids"] == [vocabulary.ids[piece] for piece in row["tokens"]]


@pytest.mark.slow
def test_the_script_answers_quietly_and_stops_quietly_when_nobody_reads(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY.tokens).replace("é", "f"), encoding="utf-8")
    with start_script(f"--vocab_file={tmp_path / 'vocab.txt'}", "--batch_size=1") as process:
        process.stdin.write(b"Playing\n")
        process.stdin.write(b"play " * 100_000 + b"\n")  # more than a pipe holds
        process.stdin.close()
        assert json.loads(process.stdout.readline())["tokens"] == ["play", "##ing"]
        process.stdout.close()  # as `head -1` does
        assert process.stderr.read().decode() == ""
        assert process.wait(timeout=60) == 0
