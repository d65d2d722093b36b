"""The three stages of pretraining records: text -> token blocks -> sampled examples -> parts of shards.

Each function does one piece of work, in any process, on one machine or on a cluster. Its result depends only
on the job, the seed and the piece's number. Its summary is written last, as JSON beside the result: a piece
is done when its summary exists.
"""

import functools
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kbert.files.whole_file import write_json
from tfrecords_tools.corpus.byte_batches import byte_batches
from tfrecords_tools.corpus.documents import Unit, read_documents
from tfrecords_tools.corpus.duplicates import Fingerprinter
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.pretraining.example_buckets import Examples, read_bucket, write_buckets
from tfrecords_tools.pretraining.full_sentences import pack_full_sentences
from tfrecords_tools.pretraining.pretraining_job import PretrainingJob
from tfrecords_tools.pretraining.sentence_pairs import PairSampler, truncate_pairs
from tfrecords_tools.records.record_statistics import RecordStatistics
from tfrecords_tools.records.tfrecord_files import naming_full_disks, open_tfrecord

# Bytes of text in a block: the unit that pairs are sampled from, and that is made again after a crash.
BLOCK_BYTES = 1 << 20
PARTNER_BLOCKS = 16  # how many other blocks the random next texts of a block come from
_TEXT_BYTES_AT_ONCE = 1 << 18
_EXAMPLES_AT_ONCE = 2048
FIRST_EXAMPLES = "first_examples.npz"  # a few examples to show to the user
# First numbers of the seeds, so that no two stages draw the same numbers.
_SAMPLING, _SHUFFLING = 1, 2


class TextGroup(NamedTuple):
    """A piece of the first stage: consecutive parts of the corpus, about a block of text."""

    name: str
    units: tuple[Unit, ...]


class BlockToSample(NamedTuple):
    """A piece of the second stage: a block, and for each pass the blocks that its random texts come from."""

    name: str
    number: int
    partners: tuple[tuple[str, ...], ...]


class Part(NamedTuple):
    """A piece of the third stage: a bucket of examples, one part of a shard."""

    name: str
    bucket: int
    num_buckets: int


def summary_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


# ------------------------------------------------------------------------------ text -> token blocks


def tokenize_group(job: PretrainingJob, group: TextGroup):
    """Reads and tokenises a group of documents, and writes them as blocks `tokens/NAME-0000.npz` ...

    The summary holds for each block its `name`, `documents`, `sentences`, `tokens` and `unknown`, and the
    `problems` that were skipped. With deduplication, `tokens/NAME.fingerprints.npy` has one row per document.
    """
    tokenizer, unk_id = _tokenizer(job.stored_vocabulary)
    fingerprinter = None if job.settings.deduplicate == "none" else Fingerprinter(job.settings.deduplicate)
    problems = Problems()
    blocks, fingerprints = [], []
    found = (document for unit in group.units for document in read_documents(unit, job.text_format, problems))
    for documents in byte_batches(found, BLOCK_BYTES, size=lambda document: sum(map(len, document))):
        lines, numbers, pieces, lengths = [], [], [], []
        for number, document in enumerate(documents):
            lines.extend(document)
            numbers.extend([number] * len(document))
        for part in byte_batches(lines, _TEXT_BYTES_AT_ONCE):
            part_pieces, part_lengths = tokenizer(part)
            pieces.append(part_pieces)
            lengths.append(part_lengths)
        lengths = np.concatenate(lengths)
        corpus = TokenizedCorpus.from_lengths(np.concatenate(pieces), lengths, numbers)
        if fingerprinter is not None:
            # Documents without a single piece do not count.
            kept = np.unique(np.array(numbers)[lengths > 0])
            fingerprints.extend(fingerprinter(documents[number]) for number in kept.tolist())
        name = f"{group.name}-{len(blocks):04d}"
        corpus.save(job.tokens / f"{name}.npz")
        blocks.append({"name": name} | counts_of(corpus, unk_id))
    if fingerprinter is not None:
        with open(job.tokens / f"{group.name}.fingerprints.npy", "wb") as file:
            np.save(file, np.array(fingerprints, np.uint64).reshape(-1, fingerprinter.num_numbers))
    write_json(
        {"blocks": blocks, "problems": problems.to_json()},
        summary_file(job.tokens, group.name),
    )


def counts_of(corpus: TokenizedCorpus, unk_id: int) -> dict[str, int]:
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
    # Late: TensorFlow takes seconds to import, and the parent process does not need it.
    from tfrecords_tools.corpus.chunk_tokenizer import ChunkTokenizer

    vocabulary = stored_vocabulary.read()
    return ChunkTokenizer(vocabulary), vocabulary.unk_id


# ------------------------------------------------------------------------------ token blocks -> examples


def sample_block(job: PretrainingJob, block: BlockToSample, num_buckets: int):
    """Samples the examples of a block, in all passes, and writes them to `examples/NAME.bin`.

    The summary holds the number of `examples`.
    """
    settings = job.settings
    own = load_block(job, block.name)
    generator = job.generator(_SAMPLING, block.number)
    passes, pool, pool_names = [], own, None
    for number, partners in enumerate(block.partners):
        rng = random.Random(f"{settings.seed}/{block.number}/{number}")
        documents = list(range(own.num_documents))
        rng.shuffle(documents)
        if not settings.has_pairs:
            pieces, lengths = pack_full_sentences(
                own, documents, max_seq_length=settings.max_seq_length, sep_id=job.vocabulary().sep_id
            )
            nothing = np.zeros_like(lengths)
            passes.append(Examples(pieces, lengths, nothing, nothing))
            continue
        if partners != pool_names:
            pool = TokenizedCorpus.concatenate([own, *(load_block(job, name) for name in partners)])
            pool_names = partners
        sampler = PairSampler(
            pool,
            max_seq_length=settings.max_seq_length,
            short_seq_prob=settings.short_seq_prob,
            rng=rng,
            sentence_order=settings.pairing == "sentence_order",
        )
        pairs = truncate_pairs(sampler.pairs(documents), settings.max_seq_length, generator)
        pieces, lengths = pool.take(pairs[:, 0:4:2].ravel(), pairs[:, 1:4:2].ravel())
        first_lengths, second_lengths = lengths.reshape(-1, 2).T
        passes.append(Examples(pieces, first_lengths, second_lengths, pairs[:, 4]))
    examples = Examples.concatenate(passes)
    write_buckets(job.examples / f"{block.name}.bin", examples, num_buckets, generator)
    write_json({"examples": len(examples)}, summary_file(job.examples, block.name))


def load_block(job: PretrainingJob, name: str) -> TokenizedCorpus:
    """Reads a block, without the documents that are duplicates."""
    corpus = TokenizedCorpus.load(job.tokens / f"{name}.npz")
    dropped = job.tokens / f"{name}.dropped.npy"
    return corpus.without(np.load(dropped)) if dropped.is_file() else corpus


# ------------------------------------------------------------------------------ examples -> parts of shards


def write_part(job: PretrainingJob, part: Part):
    """Lays out, masks and writes the examples of a bucket in random order to `parts/NAME.tfrecord`.

    The summary holds the number of `examples`; their `RecordStatistics.counts` are in `parts/NAME.npz`.
    """
    from tfrecords_tools.records.record_writer import encode_examples

    settings = job.settings
    features = settings.features()
    statistics = RecordStatistics(features, job.vocabulary())
    generator = job.generator(_SHUFFLING, part.bucket)
    paths = sorted(job.examples.glob("*.bin"))
    examples = read_bucket(paths, part.bucket, part.num_buckets, job.piece_dtype)
    order = generator.permutation(len(examples))
    path = job.parts / f"{part.name}{settings.shard_suffix}"
    with naming_full_disks(), open_tfrecord(path, settings.compression) as writer:
        for start in range(0, len(order), _EXAMPLES_AT_ONCE):
            batch = _lay_out(job, examples.take(order[start : start + _EXAMPLES_AT_ONCE]), generator)
            statistics.update(batch)
            for record in encode_examples(batch, features):
                writer.write(record)
    np.savez(job.parts / f"{part.name}.npz", **statistics.counts)  # type: ignore[arg-type]  # arrays by name
    if part.bucket == 0 and statistics.examples:
        columns = {name: np.stack([example[name] for example in statistics.examples]) for name in features}
        np.savez(job.parts / FIRST_EXAMPLES, **columns)  # type: ignore[arg-type]  # arrays by name
    write_json({"examples": len(examples)}, summary_file(job.parts, part.name))


def _lay_out(job, examples: Examples, generator) -> dict[str, np.ndarray]:
    """The features of a batch of examples."""
    has_pairs = job.settings.has_pairs
    pack = _packer(job.stored_vocabulary, job.settings.max_seq_length, has_pairs)
    masker = _masker(job)
    first, second = examples.split_texts()
    packed = pack(*first, *second) if has_pairs else pack(*first)
    batch = {name: values.numpy() for name, values in packed.items()}
    if masker is not None:
        masked = masker(batch["input_ids"], batch["input_mask"].sum(axis=1), generator)
        batch |= {
            "input_ids": masked.input_ids,
            "masked_lm_positions": masked.positions,
            "masked_lm_ids": masked.answers,
            "masked_lm_weights": masked.weights,
        }
    if has_pairs:
        batch["next_sentence_labels"] = examples.labels[:, np.newaxis].astype(np.int32)
    return batch


@functools.lru_cache(maxsize=1)
def _packer(stored_vocabulary, max_seq_length, has_pairs):
    """A function (pieces, lengths) x 1 or 2 texts -> encoder inputs."""
    import tensorflow as tf

    from kbert.tokenization.segment_packer import SegmentPacker

    packer = SegmentPacker(stored_vocabulary.read(), max_seq_length)
    text = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int64)]

    @tf.function(input_signature=text * 2 if has_pairs else text, autograph=False)
    def pack(*texts):
        ragged = tf.RaggedTensor.from_row_lengths
        return packer(*(ragged(*text, validate=False) for text in zip(texts[::2], texts[1::2], strict=True)))

    return pack


@functools.lru_cache(maxsize=1)
def _masker(job):
    """The masker, or None for dynamic masking."""
    from kbert.input_pipelines.masking import PieceMasker

    settings = job.settings
    if settings.masking == "dynamic":
        return None
    return PieceMasker(
        job.vocabulary(),
        max_predictions_per_seq=settings.max_predictions_per_seq,
        masked_lm_prob=settings.masked_lm_prob,
        do_whole_word_mask=settings.do_whole_word_mask,
        max_ngram_size=settings.max_ngram_size,
    )
