"""The second stage of pretraining records: tokenized documents -> examples, dealt out to buckets."""

import math
import random
from typing import NamedTuple

import numpy as np

from kbert.files.whole_file import write_json
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.pretraining.example_buckets import Examples, write_buckets
from tfrecords_tools.pretraining.pretraining_job import Pool, PretrainingJob, run_items, summary_file
from tfrecords_tools.pretraining.sentence_pairs import PairSampler, truncate_pairs
from tfrecords_tools.pretraining.tokenization_stage import load_block

PARTNER_BLOCKS = 16  # how many other blocks the random next texts of a block come from
# Planned bytes of pieces in a bucket. It is shuffled in memory, where it takes about three times as much.
BUCKET_BYTES = 32 << 20
_SEED = 1  # first number of this stage's seeds, so that no two stages draw the same numbers


class BlockToSample(NamedTuple):
    """An item of this stage: a block, and for each pass the blocks that its random texts come from."""

    name: str
    number: int
    partners: tuple[tuple[str, ...], ...]
    num_buckets: int


def sample_corpus(job: PretrainingJob, pool: Pool, blocks: list[dict]) -> int:
    """Runs the stage on the blocks that `tokenize_corpus` gives; returns how many buckets make a shard."""
    num_tokens = sum(block["tokens"] for block in blocks)
    num_bytes = num_tokens * job.settings.dupe_factor * job.piece_dtype.itemsize
    buckets_per_shard = math.ceil(num_bytes / BUCKET_BYTES / job.settings.num_shards)
    num_buckets = buckets_per_shard * job.settings.num_shards
    names = [block["name"] for block in blocks if block["tokens"]]
    items = [
        BlockToSample(name, number, _partners(job, names, number), num_buckets)
        for number, name in enumerate(names)
    ]
    sizes = {block["name"]: block["tokens"] for block in blocks}
    run_items(sample_block, job, pool, items, job.examples, sizes, "Sampled from", "tokens")
    return buckets_per_shard


def _partners(job, names, number) -> tuple[tuple[str, ...], ...]:
    """For each pass, the other blocks that a block takes random texts from: all of them, or a sample."""
    others = names[:number] + names[number + 1 :]
    if len(others) <= PARTNER_BLOCKS:
        return (tuple(others),) * job.settings.dupe_factor
    rng = random.Random(f"{job.settings.seed}/partners/{number}")
    return tuple(tuple(rng.sample(others, PARTNER_BLOCKS)) for _ in range(job.settings.dupe_factor))


def sample_block(job: PretrainingJob, block: BlockToSample):
    """In a worker: samples the examples of a block, in all passes, and writes them to `examples/NAME.bin`.

    The summary holds the number of `examples`.
    """
    settings = job.settings
    own = load_block(job, block.name)
    generator = job.generator(_SEED, block.number)
    room = settings.max_seq_length - job.vocabulary().count_special(2 if settings.has_pairs else 1)
    passes, corpus, corpus_partners = [], own, None
    for number, partners in enumerate(block.partners):
        rng = random.Random(f"{settings.seed}/{block.number}/{number}")
        documents = list(range(own.num_documents))
        if not settings.has_pairs:
            # In the order of the corpus: what stands on several lines or in several rows stays a text, even
            # where each is a document. Another first one in each pass ends the examples elsewhere.
            first = rng.randrange(len(documents) + 1)  # duplicates may have been all of a block
            documents = documents[first:] + documents[:first]
            pieces, lengths = pack_full_sentences(own, documents, room=room, sep_id=job.vocabulary().sep_id)
            nothing = np.zeros_like(lengths)
            passes.append(Examples(pieces, lengths, nothing, nothing))
            continue
        rng.shuffle(documents)
        if partners != corpus_partners:
            corpus = TokenizedCorpus.concatenate([own, *(load_block(job, name) for name in partners)])
            corpus_partners = partners
        sampler = PairSampler(
            corpus,
            room=room,
            short_seq_prob=settings.short_seq_prob,
            rng=rng,
            sentence_order=settings.pairing == "sentence_order",
        )
        pairs = truncate_pairs(sampler.pairs(documents), room, generator)
        pieces, lengths = corpus.take(pairs[:, 0:4:2].ravel(), pairs[:, 1:4:2].ravel())
        first_lengths, second_lengths = lengths.reshape(-1, 2).T
        passes.append(Examples(pieces, first_lengths, second_lengths, pairs[:, 4]))
    examples = Examples.concatenate(passes)
    write_buckets(job.examples / f"{block.name}.bin", examples, block.num_buckets, generator)
    write_json({"examples": len(examples)}, summary_file(job.examples, block.name))


def pack_full_sentences(
    corpus: TokenizedCorpus, documents, *, room: int, sep_id: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fills sequences with consecutive full sentences, across document ends, with [SEP] between documents.

    This is FULL-SENTENCES of RoBERTa (arXiv 1907.11692, section 4.2). A sentence longer than a whole sequence
    is cut, and its rest begins the next sequence.

    Args:
      corpus: the `TokenizedCorpus`.
      documents: numbers of documents, in the order to go through them.
      room: the most pieces of a text.
      sep_id: the id that stands between documents.

    Returns:
      (pieces of all texts one after another, with the dtype of the corpus; int64 array, the length of each).
    """
    separator = np.array([sep_id], corpus.pieces.dtype)
    starts, document_starts = corpus.sentence_starts.tolist(), corpus.document_starts.tolist()
    taken, lengths = [], []
    used = 0
    for document in documents:
        if 0 < used < room - 1:  # room for the separator and at least one piece
            taken.append(separator)
            used += 1
        elif used:
            lengths.append(used)
            used = 0
        first, last = document_starts[document : document + 2]
        for sentence in range(first, last):
            start, end = starts[sentence], starts[sentence + 1]
            if used and used + end - start > room:
                used = _close(taken, lengths, used, separator)
            while end - start > room:
                taken.append(corpus.pieces[start : start + room])
                lengths.append(room)
                start += room
            taken.append(corpus.pieces[start:end])
            used += end - start
    if used:
        _close(taken, lengths, used, separator)
    pieces = np.concatenate(taken) if taken else corpus.pieces[:0]
    return pieces, np.array(lengths, np.int64)


def _close(taken, lengths, used, separator):
    """Ends a text; a separator at its end is removed."""
    if taken[-1] is separator:
        taken.pop()
        used -= 1
    if used:
        lengths.append(used)
    return 0
