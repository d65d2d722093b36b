"""The first stage of pretraining records: text -> blocks of tokenized documents, without duplicates."""

import functools
import hashlib
import io
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.files.json_file import read_json
from kbert.files.whole_file import whole_file, write_json
from kbert.tokenization.character_classes import IDEOGRAPHS, in_python
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import IN_NO_PIECE
from kbert.tokenization.unknown_pieces import warn_of_unknown_pieces
from tfrecords_tools.corpus import chunk_tokenizer
from tfrecords_tools.corpus.corpus_files import text_bytes
from tfrecords_tools.corpus.documents import Unit, plan_units, read_documents
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.pretraining.pretraining_job import Pool, PretrainingJob, run_items, summary_file
from tfrecords_tools.work.worker_pool import byte_batches

# Bytes of text in a block: the unit that pairs are sampled from, and that is made again after a crash.
BLOCK_BYTES = 1 << 20
TEXT_BYTES_AT_ONCE = 1 << 18
# Sentences of a document, on average: with fewer nearly all have one; the longest novels have no more.
_FEWEST_SENTENCES, _MOST_SENTENCES = 1.2, 20_000
_MOST_TOKENS = 50  # of documents that are a sentence; in more, such as a text on a line, a separator is rare

_MARK = IN_NO_PIECE.encode()
# By the kind of vocabulary: what a line of a document begins with behind a blank, and without one.
_BEFORE_LINES = {"bpe": (b" ", b""), "sentencepiece": (b"", _MARK)}
_WIDE = rf"[{in_python(IDEOGRAPHS)}\u3001-\u30ff\uff01-\uff9f]"  # ideographs, kana, their punctuation
_WIDE_MARK = r"[\u3001-\u3003\u3008-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
# Two lines with such characters on both sides, or with their punctuation, or two marks of any script, on one:
# an English one may end with a name in ideographs. A quotation mark may stand at an edge. Korean has blanks.
_WITHOUT_BLANKS = re.compile(
    rf"(?s)(?!.*[\uac00-\ud7a3])"
    rf".*({_WIDE}.?\n.?{_WIDE}|{_WIDE_MARK}.?\n|\n.?{_WIDE_MARK}|\W\W\n.?{_WIDE}|{_WIDE}.?\n\W\W)"
)


class TextGroup(NamedTuple):
    """An item of this stage: consecutive units of the corpus, about a block of text."""

    name: str
    units: tuple[Unit, ...]


def text_groups(files: list[Path]) -> list[TextGroup]:
    """The pieces of this stage; they depend on the names and sizes of the files alone."""

    def num_bytes(unit):
        return text_bytes(Path(unit.file)) if unit.end < 0 else unit.num_bytes

    groups = byte_batches(plan_units(files, BLOCK_BYTES), BLOCK_BYTES // 2, size=num_bytes)
    return [TextGroup(f"{number:06d}", tuple(units)) for number, units in enumerate(groups)]


def check_two_documents(groups: list[TextGroup], job: PretrainingJob):
    """Raises ValueError as `tokenize_corpus` does, before any work: reads only up to the second document."""
    text_format = job.settings.text_format()
    documents = itertools.chain.from_iterable(
        read_documents(unit, text_format, Problems()) for group in groups for unit in group.units
    )
    _require_two_documents(sum(1 for _ in itertools.islice(documents, 2)))


def tokenize_corpus(job: PretrainingJob, pool: Pool, groups: list[TextGroup]) -> tuple[list[dict], dict]:
    """Runs the stage.

    Returns:
      (for each block its `name` and `count_pieces` of it, duplicates included; the manifest's statistics of
      the corpus without its duplicates).

    Raises:
      ValueError: for lines that cannot be read, for a file that was changed meanwhile, and for a corpus
        without text, or with less than two documents where random next texts come from other documents.
    """
    sizes = {group.name: sum(unit.num_bytes for unit in group.units) for group in groups}
    run_items(tokenize_group, job, pool, groups, job.tokens, sizes, "Tokenised", "bytes")
    job.require_same_files()
    summaries = [read_json(summary_file(job.tokens, group.name)) for group in groups]
    blocks = [block for summary in summaries for block in summary["blocks"]]
    problems = Problems.merge(Problems.from_json(summary["problems"]) for summary in summaries)
    for line in problems.summary():
        logging.warning("%s", line)
    kept = blocks if job.settings.deduplicate == "none" else _drop_duplicates(job, groups, blocks)
    counts = {
        name: sum(block[name] for block in kept) for name in ("documents", "sentences", "tokens", "unknown")
    }
    num_documents = sum(block["documents"] for block in blocks)
    if counts["documents"] < 1:
        raise ValueError("the input files hold no text: tokenization gave no tokens; give files with text.")
    if job.settings.has_pairs:
        _require_two_documents(counts["documents"], num_documents)
    _warn_of_odd_documents(counts, job.settings.has_pairs)
    warn_of_unknown_pieces(counts["unknown"] / counts["tokens"])
    return blocks, {
        "documents": counts["documents"],
        "documents_dropped_as_duplicates": num_documents - counts["documents"],
        "lines_skipped": problems.count,
        "sentences": counts["sentences"],
        "tokens": counts["tokens"],
        "unknown_share": round(counts["unknown"] / counts["tokens"], 6),
    }


def has_single_sentences(counts) -> bool:
    """Whether nearly all documents have one sentence; `counts`: how many `documents` and `sentences`."""
    return counts["sentences"] < _FEWEST_SENTENCES * counts["documents"]


def _warn_of_odd_documents(counts, has_pairs):
    are_short = counts["tokens"] < _MOST_TOKENS * counts["documents"]
    if counts["documents"] > 1 and has_single_sentences(counts) and (has_pairs or are_short):
        every = "every document has" if counts["sentences"] == counts["documents"] else "most documents have"
        effect = "there is no real next one, so nothing is to be learnt from pairs"
        logging.warning(
            "%s one sentence (%d documents, %d sentences): %s. A blank line ends a document, and each object "
            "of JSON lines is one: keep the sentences of a text together%s.",
            *(every, counts["documents"], counts["sentences"]),
            effect if has_pairs else "a separator follows each, as in no text that is read later",
            ", or take --pairing=full_sentences" * has_pairs,
        )
    if has_pairs and counts["sentences"] > _MOST_SENTENCES * counts["documents"]:
        logging.warning(
            "a document has %s sentences on average (%d documents): a blank line ends a document, and "
            "without one a text begins with the real next sentence of the text before. Put blank lines "
            "between the texts, or take --pairing=full_sentences.",
            *(f"{counts['sentences'] // counts['documents']:,}", counts["documents"]),
        )


def _require_two_documents(num_documents: int, before: int = 1):
    """Raises ValueError for fewer; `before` are those with the duplicates that were dropped."""
    if not num_documents:
        raise ValueError("the input files hold no text, only blank lines; give files with text.")
    if num_documents < 2:
        held = f"without duplicates, 1 of {before:,} documents is left" * (before > 1)
        raise ValueError(
            f"{held or 'the input holds 1 document'}, but random next sentences come from other "
            "documents, so at least 2 are needed: put a blank line between documents (JSON lines: an object "
            "for each), give more files, or use --pairing=full_sentences."
        )


# ------------------------------------------------------------------------------ in a worker


def tokenize_group(job: PretrainingJob, group: TextGroup):
    """Reads and tokenises a group of documents, and writes them as blocks `tokens/NAME-0000.bin` ...

    The summary holds for each block its `name` and `count_pieces` of it, and the `problems` that were
    skipped. With deduplication, `tokens/NAME.digests.npy` has one row per document.
    """
    tokenizer, unk_id = _tokenizer(job.stored_vocabulary)
    problems, text_format = Problems(), job.settings.text_format()
    blocks, digests = [], []
    all_documents = (
        document for unit in group.units for document in read_documents(unit, text_format, problems)
    )
    for documents in byte_batches(all_documents, BLOCK_BYTES, size=lambda document: sum(map(len, document))):
        lines, numbers, pieces, lengths = [], [], [], []
        for number, document in enumerate(documents):
            lines.extend(_as_running_text(document, tokenizer.vocabulary.kind))
            numbers.extend([number] * len(document))
        for some_lines in byte_batches(lines, TEXT_BYTES_AT_ONCE):
            some_pieces, some_lengths = _tokens(tokenizer, some_lines)
            pieces.append(some_pieces)
            lengths.append(some_lengths)
        lengths = np.concatenate(lengths)
        corpus = TokenizedCorpus.from_lengths(np.concatenate(pieces), lengths, numbers)
        if job.settings.deduplicate == "exact":
            # Documents without a single piece do not count.
            kept = np.unique(np.array(numbers)[lengths > 0])
            digests.extend(text_digest(documents[number]) for number in kept.tolist())
        name = f"{group.name}-{len(blocks):04d}"
        corpus.save(job.tokens / f"{name}.bin")
        blocks.append({"name": name} | count_pieces(corpus, unk_id))
    if job.settings.deduplicate == "exact":
        _save_array(np.array(digests, np.uint64).reshape(-1, 2), _digests_file(job, group))
    write_json(
        {"blocks": blocks, "problems": problems.to_json()},
        summary_file(job.tokens, group.name),
    )


def _as_running_text(document: list[bytes], kind: str) -> list[bytes]:
    """The lines of a document for a tokenizer of this kind; the second and later ones say what they follow.

    Byte-level BPE takes a blank into the word: without it records would say "the end.The next one." of most
    scripts. SentencePiece puts one before each text, which Chinese and Japanese do not have: `_tokens` drops
    it, with an unknown character behind it.
    """
    blank, none = _BEFORE_LINES.get(kind, (b"", b""))
    others = (
        (none if _WITHOUT_BLANKS.match(f"{before.decode()[-2:]}\n{line.decode()[:2]}") else blank) + line
        for before, line in itertools.pairwise(document)
    )
    return [document[0], *others] if kind in _BEFORE_LINES else document


def _tokens(tokenizer, lines):
    """(pieces, lengths) as of a `ChunkTokenizer`, without those of `IN_NO_PIECE` where lines begin."""
    pieces, lengths = tokenizer(lines)
    if marked := [number for number, line in enumerate(lines) if line.startswith(_MARK)]:
        (num_before,) = tokenizer([_MARK])[1]
        ends = np.cumsum(lengths)
        firsts = (ends - lengths)[marked]
        pieces = np.delete(pieces, firsts[:, np.newaxis] + np.arange(num_before))
        lengths[marked] -= num_before
    return pieces, lengths


def count_pieces(corpus: TokenizedCorpus, unk_id: int) -> dict[str, int]:
    """What a corpus holds: `documents`, `sentences`, `tokens`, and how many of them are `unknown`."""
    return {
        "documents": corpus.num_documents,
        "sentences": corpus.num_sentences,
        "tokens": len(corpus.pieces),
        "unknown": int(np.count_nonzero(corpus.pieces == unk_id)),
    }


@functools.lru_cache(maxsize=1)
def _tokenizer(stored_vocabulary):
    """The tokenizer of this process, and the id of unknown pieces."""
    vocabulary = stored_vocabulary.read()
    return chunk_tokenizer.ChunkTokenizer(vocabulary), vocabulary.unk_id


# ------------------------------------------------------------------------------ duplicates


def text_digest(document: Iterable[bytes]) -> np.ndarray:
    """128 bits of the text of a document, lower-cased and with white space normalized: uint64, (2,)."""
    text = " ".join(b" ".join(document).decode("utf-8").lower().split())
    return np.frombuffer(hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest(), np.uint64)


def occurred_before(digests: np.ndarray) -> np.ndarray:
    """Which documents have the text of an earlier one: bool (N,), from uint64 (N, 2)."""
    repeated = np.ones(len(digests), bool)
    repeated[np.unique(digests, axis=0, return_index=True)[1]] = False  # the first of each
    return repeated


def _digests_file(job, group):
    return job.tokens / f"{group.name}.digests.npy"


def _save_array(values, path):
    """As `np.save` into memory: into a file it loses the end without an error where the disk is full."""
    content = io.BytesIO()
    np.save(content, values)
    with whole_file(path) as aside:
        aside.write_bytes(content.getbuffer())


def _drop_duplicates(job, groups, blocks) -> list[dict]:
    """Writes for each block which of its documents occurred before; returns what it holds of the others."""
    dropped = occurred_before(np.concatenate([np.load(_digests_file(job, group)) for group in groups]))
    unk_id = job.vocabulary().unk_id
    start, kept = 0, []
    for block in blocks:
        block_dropped = dropped[start : start + block["documents"]]
        start += block["documents"]
        _save_array(block_dropped, job.tokens / f"{block['name']}.dropped.npy")
        kept.append(count_pieces(load_block(job, block["name"]), unk_id) if block_dropped.any() else block)
    logging.info("Dropped %d of %d documents as duplicates.", dropped.sum(), len(dropped))
    return kept


def load_block(job: PretrainingJob, name: str) -> TokenizedCorpus:
    """Reads a block, without the documents that are duplicates."""
    corpus = TokenizedCorpus.load(job.tokens / f"{name}.bin", job.piece_dtype)
    dropped = job.tokens / f"{name}.dropped.npy"
    return corpus.without(np.load(dropped)) if dropped.is_file() else corpus
