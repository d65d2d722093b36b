"""Offsets beside Hugging Face's BertWordPieceTokenizer: equal but for what our rules add to a span."""

import gzip
import json
import subprocess
import unicodedata
from pathlib import Path

import pytest
import tensorflow as tf

from kbert import Vocabulary, WordPieceTokenizer

PEER = Path(__file__).with_name("offsets_peer.py")
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def texts() -> list[str]:
    """Passages in seven languages, and the tokenizer's golden texts: 66 languages and adversarial ones."""
    chosen = []
    for file in sorted((DATA / "xquad").glob("xquad.*.json")):
        articles = json.loads(file.read_text(encoding="utf-8"))["data"]
        chosen += [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    for file in sorted((DATA / "golden" / "tokenization").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            chosen += [json.loads(line)["text"] for line in lines]
    return [text for text in chosen if not any("\ud800" <= character < "\ue000" for character in text)]


def their_answers(python, vocabulary_file, do_lower_case, folder):
    request = {"vocab_file": str(vocabulary_file), "do_lower_case": do_lower_case, "texts": texts()}
    (folder / "request.json").write_text(json.dumps(request))
    command = [python, PEER, folder / "request.json", folder / "answer.json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads((folder / "answer.json").read_text())


def is_added(character, do_lower_case):
    """Whether our rules put it at the end of a span, and theirs do not: what was deleted inside of a word."""
    category = unicodedata.category(character)
    return category in ("Cc", "Cf") or character == "\ufffd" or (do_lower_case and category == "Mn")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "do_lower_case"), [("uncased", True), ("multi_cased", False)])
def test_offsets_equal_hugging_face(name, do_lower_case, peers_python, tmp_path):
    vocabulary_file = DATA / "vocab" / f"bert_{name}" / "vocab.txt"
    if not vocabulary_file.is_file():
        pytest.skip(f"PEERS NOT COMPARED: {vocabulary_file} is not here")
    theirs = their_answers(peers_python, vocabulary_file, do_lower_case, tmp_path)
    tokenizer = WordPieceTokenizer(Vocabulary.from_file(vocabulary_file, do_lower_case))
    ours = tokenizer.with_offsets(tf.constant(texts()))

    number = {"pieces": 0, "longer": 0, "texts with other ids": 0}
    rows = zip(texts(), theirs, *(field.to_list() for field in ours[:3]), strict=True)
    for text, their, ids, starts, ends in rows:
        # They drop private and unassigned characters; the original keeps them, if only inside of an [UNK].
        if their["ids"] != ids or any(unicodedata.category(character) in ("Co", "Cn") for character in text):
            number["texts with other ids"] += their["ids"] != ids
            continue
        for (start, end), our_start, our_end in zip(their["offsets"], starts, ends, strict=True):
            number["pieces"] += 1
            number["longer"] += our_end > end
            assert our_start == start and our_end >= end, ascii(text[start:our_end])
            assert all(is_added(character, do_lower_case) for character in text[end:our_end])
    print(number)
    assert number["pieces"] > 300_000 and number["texts with other ids"] < 40
