import os
import resource

import numpy as np
import pytest

from tfrecords_tools.corpus.chunk_tokenizer import ChunkTokenizer
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.pretraining.tokenization_stage import (
    _as_running_text,
    _save_array,
    _tokens,
    _warn_of_odd_documents,
    occurred_before,
    text_digest,
)
from tfrecords_tools.vocabulary.tokenizer_learners import learn_unigram


def test_duplicates_are_those_of_the_text_whatever_its_case_and_white_space():
    documents = [
        ["One two three.", "Four."],
        ["Another text."],
        ["one  two", "THREE.\u3000four."],
        ["One two three, four."],
        ["another text."],
        ["One two three. Four."],
    ]
    digests = np.stack([text_digest([line.encode() for line in document]) for document in documents])
    assert occurred_before(digests).tolist() == [False, False, True, False, True, True]
    assert occurred_before(digests[:0]).tolist() == []


@pytest.mark.parametrize(
    ("num_documents", "num_sentences", "words"),
    [
        (2, 40_001, "a document has 20,000 sentences on average (2 documents): a blank line ends"),
        (2, 40_000, ""),
        (10, 10, "every document has one sentence (10 documents, 10 sentences)"),
    ],
)
def test_documents_that_are_none_are_said(num_documents, num_sentences, words, caplog):
    """Two files of comments, one a line, were two documents: each line the real next of that before."""
    counts = {"documents": num_documents, "sentences": num_sentences, "tokens": 25 * num_sentences}
    _warn_of_odd_documents(counts, has_pairs=True)
    assert words in caplog.text and len(caplog.records) == bool(words)
    caplog.clear()
    _warn_of_odd_documents(counts, has_pairs=False)
    assert ("a separator follows each" in caplog.text) is (num_documents == num_sentences)
    caplog.clear()
    _warn_of_odd_documents(counts | {"tokens": 400 * num_sentences}, has_pairs=False)  # a text on each line
    assert not caplog.text


def _bytes(*lines):
    return [line.encode() for line in lines]


def test_sentences_stay_apart_where_blanks_are_part_of_the_words():
    """Records of RoBERTa's vocabulary once held "the end.The next one."."""
    document = _bytes(
        "He came.", "Yes.", "Ça va ?", "네.", "สวัสดี", "他 和 Kim 回家了。", "“走吧。”", "“是。”"
    )
    joined = "He came. Yes. Ça va ? 네. สวัสดี 他 和 Kim 回家了。“走吧。”“是。”"
    assert b"".join(_as_running_text(document, "bpe")) == joined.encode()
    assert _as_running_text(document, "wordpiece") == document
    document = _bytes(
        "To 東京.", "He stayed in 東京", "for a day.", "他买了手机。", "iPhone很好", "「是」", "Yes."
    )
    joined = "To 東京. He stayed in 東京 for a day. 他买了手机。iPhone很好「是」Yes."
    assert b"".join(_as_running_text(document, "bpe")) == joined.encode()
    document = _bytes("他走了……", "我来了——", "“好。”", "真的吗?!", "是的。")
    assert b"".join(_as_running_text(document, "bpe")) == "他走了……我来了——“好。”真的吗?!是的。".encode()
    document = _bytes("그는 말했다.", "《기생충》은 좋다.", "He said…", "yes.")
    assert b"".join(_as_running_text(document, "bpe")) == b" ".join(document)


def test_sentencepiece_has_no_blank_before_a_sentence_of_chinese():
    """Records of XLM-R held ▁ before each line: "。▁狗", where texts have "。狗"."""
    lines = ["他和狗回家了。", "狗睡了。", "他走了。", "Yes , he went home .", "Kim went , too ."]
    tokenizer = ChunkTokenizer(learn_unigram(lines * 9, 60))
    pieces, lengths = _tokens(tokenizer, _as_running_text(_bytes(*lines), "sentencepiece"))
    joined, _ = tokenizer(_bytes("".join(lines[:4]) + " " + lines[4]))
    assert pieces.tolist() == joined.tolist() and lengths.sum() == len(joined)
    assert lengths[-1] == tokenizer(_bytes(lines[-1]))[1][0]  # behind a blank


def _full_at(limit):
    """No file may grow beyond `limit` bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.mark.parametrize("missing", [1, 2, 100, 5000])
def test_a_block_is_whole_or_an_error(tmp_path, missing):
    corpus = TokenizedCorpus.from_lengths(np.arange(9000, dtype=np.uint16), [4000, 0, 5000], [0, 0, 1])
    block, digests = tmp_path / "work" / "tokens" / "0-0000.bin", tmp_path / "0.digests.npy"
    block.parent.mkdir(parents=True)
    corpus.save(block)
    loaded, size = TokenizedCorpus.load(block, np.dtype(np.uint16)), block.stat().st_size
    for name in ("pieces", "sentence_starts", "document_starts"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(corpus, name))
    before = block.read_bytes()
    _full_at(size - missing)
    try:
        for write in (lambda: corpus.save(block), lambda: _save_array(np.zeros(size, np.uint8), digests)):
            with pytest.raises(OSError, match="File too large"):
                write()
    finally:
        _full_at(resource.RLIM_INFINITY)
    assert block.read_bytes() == before and not digests.exists()
    os.truncate(block, size - missing)
    with pytest.raises(ValueError, match=f"{block} is not whole; delete {tmp_path / 'work'}, "):
        TokenizedCorpus.load(block, np.dtype(np.uint16))
