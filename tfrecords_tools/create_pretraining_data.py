r"""Script: corpus + vocabulary -> masked TFRecords for pretraining.

  python -m tfrecords_tools.create_pretraining_data \
      --input_files='corpus/*.txt' --vocab_file=vocab.txt --output_dir=records

Flags and defaults are those of the original create_pretraining_data.py. The corpus is tokenised once;
each of the `dupe_factor` passes draws new pairs and masks from it. Pairs are five numbers each, so all
of them are drawn, shuffled together, and then laid out, masked and written batch by batch.
"""

import itertools
import random
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from absl import flags, logging

from kbert import command_line
from kbert.features import pretraining_features
from kbert.manifest import Manifest
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.documents import input_files as find_input_files
from tfrecords_tools.documents import read_documents
from tfrecords_tools.masking import PieceMasker
from tfrecords_tools.record_writer import RecordWriter, check_output_dir
from tfrecords_tools.sentence_pairs import PairSampler, SentencePair, TokenizedCorpus, require_two_documents
from tfrecords_tools.show_records import describe_record

FLAGS = flags.FLAGS

SENTENCES_PER_BATCH = 4096
EXAMPLES_PER_BATCH = 1024
EXAMPLES_TO_LOG = 3
SECONDS_BETWEEN_PROGRESS_LINES = 5.0
SHORTEST_SEQUENCE = 8
HIGH_UNKNOWN_SHARE = 0.05


def define_flags():
    """Defined on demand, so that a test may import several scripts that share the names of flags."""
    flags.DEFINE_string("input_files", None, "Text files (or .gz), globs allowed, separated by commas.")
    flags.DEFINE_string("vocab_file", None, "The vocab.txt.")
    flags.DEFINE_string("output_dir", None, "The folder to make, with shards, manifest.json and vocab.txt.")
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text and strip accents.")
    flags.DEFINE_integer("max_seq_length", 128, "Length of the sequences, special tokens included.")
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Most masked places of a sequence.")
    flags.DEFINE_integer("dupe_factor", 10, "How many times to go over the corpus, with new masks.")
    flags.DEFINE_float("masked_lm_prob", 0.15, "Share of a sequence that is masked.")
    flags.DEFINE_float("short_seq_prob", 0.1, "Share of passes over a document with shorter sequences.")
    flags.DEFINE_bool("do_whole_word_mask", False, "Mask words with all their pieces or not at all.")
    flags.DEFINE_integer("seed", 12345, "The same seed gives the same bytes.")
    flags.DEFINE_integer("num_shards", 8, "How many TFRecord files.")
    flags.DEFINE_bool("overwrite", False, "Replace records that are in output_dir, once the new are whole.")
    flags.mark_flags_as_required(["input_files", "vocab_file", "output_dir"])


def main(argv):
    del argv
    manifest = create_pretraining_data(
        FLAGS.input_files,
        FLAGS.vocab_file,
        FLAGS.output_dir,
        do_lower_case=FLAGS.do_lower_case,
        max_seq_length=FLAGS.max_seq_length,
        max_predictions_per_seq=FLAGS.max_predictions_per_seq,
        dupe_factor=FLAGS.dupe_factor,
        masked_lm_prob=FLAGS.masked_lm_prob,
        short_seq_prob=FLAGS.short_seq_prob,
        do_whole_word_mask=FLAGS.do_whole_word_mask,
        seed=FLAGS.seed,
        num_shards=FLAGS.num_shards,
        overwrite=FLAGS.overwrite,
    )
    print(summary(FLAGS.output_dir, manifest))


def create_pretraining_data(
    input_files: str | Path | list[str | Path],
    vocab_file: str | Path,
    output_dir: str | Path,
    *,
    do_lower_case: bool = True,
    max_seq_length: int = 128,
    max_predictions_per_seq: int = 20,
    dupe_factor: int = 10,
    masked_lm_prob: float = 0.15,
    short_seq_prob: float = 0.1,
    do_whole_word_mask: bool = False,
    seed: int = 12345,
    num_shards: int = 8,
    overwrite: bool = False,
) -> Manifest:
    """Writes the records of a corpus; the arguments are the flags.

    Returns:
      The manifest that lies in `output_dir`, statistics included.

    Raises:
      ValueError: for settings that do not fit together, files that cannot be read, a corpus of less than
        two documents, or an `output_dir` that may not be written. Only what is in the middle of a file is
        found late; the rest is said before the work begins.
    """
    check_settings(
        max_seq_length=max_seq_length,
        max_predictions_per_seq=max_predictions_per_seq,
        dupe_factor=dupe_factor,
        masked_lm_prob=masked_lm_prob,
        short_seq_prob=short_seq_prob,
    )
    check_output_dir(output_dir, overwrite)
    vocabulary = Vocabulary.from_file(vocab_file, do_lower_case)
    files = find_input_files(input_files)
    require_two_documents(sum(1 for _ in itertools.islice(read_documents(files), 2)))
    for warning in (
        vocabulary.casing_warning(),
        _prediction_warning(max_seq_length, max_predictions_per_seq, masked_lm_prob),
    ):
        if warning:
            logging.warning(warning)

    settings = {
        "input_files": list(map(str, input_files)) if isinstance(input_files, list) else str(input_files),
        "vocab_file": str(vocab_file),
        "do_lower_case": do_lower_case,
        "max_seq_length": max_seq_length,
        "max_predictions_per_seq": max_predictions_per_seq,
        "dupe_factor": dupe_factor,
        "masked_lm_prob": masked_lm_prob,
        "short_seq_prob": short_seq_prob,
        "do_whole_word_mask": do_whole_word_mask,
        "seed": seed,
        "num_shards": num_shards,
    }
    rng = random.Random(seed)
    writer = RecordWriter(
        output_dir,
        kind="pretraining",
        features=pretraining_features(max_seq_length, max_predictions_per_seq),
        vocabulary=vocabulary,
        num_shards=num_shards,
        settings=settings,
        overwrite=overwrite,
    )
    with writer:
        corpus = tokenize_documents(files, vocabulary)
        _warn_of_unknown_pieces(corpus, vocabulary)

        sampler = PairSampler(corpus, max_seq_length=max_seq_length, short_seq_prob=short_seq_prob, rng=rng)
        pairs = pairs_array(sampler.pairs(dupe_factor))
        generator = np.random.default_rng(rng.getrandbits(64))
        pairs = generator.permutation(pairs)

        masker = PieceMasker(
            vocabulary,
            max_predictions_per_seq=max_predictions_per_seq,
            masked_lm_prob=masked_lm_prob,
            do_whole_word_mask=do_whole_word_mask,
        )
        counts = Counter()
        progress = Progress("Wrote", "examples", len(pairs))
        for batch in example_batches(corpus, pairs, masker, vocabulary, max_seq_length, generator):
            if not counts["examples"]:
                _log_examples(batch, vocabulary)
            writer.write(batch)
            counts.update(count_batch(batch, vocabulary))
            progress.report(counts["examples"])
        progress.report_end()
        return writer.finish(statistics(corpus, counts, vocabulary))


def check_settings(*, max_seq_length, max_predictions_per_seq, dupe_factor, masked_lm_prob, short_seq_prob):
    """Raises ValueError for numbers that make no sense, alone or together."""
    if max_seq_length < SHORTEST_SEQUENCE:
        raise ValueError(
            f"max_seq_length={max_seq_length} is too short for two texts and three special tokens; it must "
            f"be at least {SHORTEST_SEQUENCE}, and is usually 128 or 512."
        )
    if not 1 <= max_predictions_per_seq <= max_seq_length - 3:
        raise ValueError(
            f"max_predictions_per_seq={max_predictions_per_seq} must lie between 1 and max_seq_length - 3 = "
            f"{max_seq_length - 3}; max_seq_length x masked_lm_prob = "
            f"{max(1, round(max_seq_length * masked_lm_prob))} is a good choice."
        )
    if dupe_factor < 1:
        raise ValueError(f"dupe_factor={dupe_factor} must be at least 1.")
    if not 0.0 < masked_lm_prob < 1.0:
        raise ValueError(f"masked_lm_prob={masked_lm_prob} must be above 0 and below 1; BERT has 0.15.")
    if not 0.0 <= short_seq_prob <= 1.0:
        raise ValueError(f"short_seq_prob={short_seq_prob} must lie between 0 and 1; BERT has 0.1.")


def _prediction_warning(max_seq_length, max_predictions_per_seq, masked_lm_prob):
    wanted = round(max_seq_length * masked_lm_prob)
    if max_predictions_per_seq < wanted:
        return (
            f"max_predictions_per_seq={max_predictions_per_seq} is below max_seq_length x masked_lm_prob = "
            f"{wanted}: long sequences are masked less than asked for."
        )
    return None


def _warn_of_unknown_pieces(corpus, vocabulary):
    share = np.mean(corpus.pieces == vocabulary.unk_id)
    if share > HIGH_UNKNOWN_SHARE:
        logging.warning(
            "%.1f %% of all pieces are [UNK]: is vocab_file made for this language and casing?", 100 * share
        )


# ------------------------------------------------------------------------------ text to pairs


def tokenize_documents(files, vocabulary: Vocabulary) -> TokenizedCorpus:
    """Reads and tokenises all documents, once.

    Pieces are kept in two bytes each where the vocabulary allows, so a corpus takes about half the room
    of its text.
    """
    import tensorflow as tf

    from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

    tokenizer = WordPieceTokenizer(vocabulary)
    dtype = np.uint16 if len(vocabulary) <= 1 << 16 else np.int32
    pieces, lengths, document_of_sentence = [], [], array("q")
    # How much text a gzip file holds is not known in advance.
    is_compressed = any(file.suffix == ".gz" for file in files)
    progress = Progress("Tokenised", "bytes", None if is_compressed else sum(f.stat().st_size for f in files))
    num_bytes = 0
    for numbers, lines in _line_batches(read_documents(files)):
        ragged = tokenizer(tf.constant(lines))
        pieces.append(ragged.flat_values.numpy().astype(dtype))
        lengths.append(ragged.row_lengths().numpy())
        document_of_sentence.extend(numbers)
        num_bytes += sum(map(len, lines)) + len(lines)
        progress.report(num_bytes)
    progress.report_end()
    return TokenizedCorpus.from_lengths(np.concatenate(pieces), np.concatenate(lengths), document_of_sentence)


def _line_batches(documents) -> Iterator[tuple[list[int], list[bytes]]]:
    """Yields (number of the document of each line, lines)."""
    numbers, lines = [], []
    for number, document in enumerate(documents):
        for line in document:
            numbers.append(number)
            lines.append(line.encode("utf-8"))
            if len(lines) == SENTENCES_PER_BATCH:
                yield numbers, lines
                numbers, lines = [], []
    if lines:
        yield numbers, lines


def pairs_array(pairs: Iterable[SentencePair]) -> np.ndarray:
    """Pairs as an int64 array of shape [pairs, 5], a column for each field of `SentencePair`."""
    flat = array("q")
    for pair in pairs:
        flat.extend(pair)
    return np.frombuffer(flat, np.int64).reshape(-1, len(SentencePair._fields))


# ------------------------------------------------------------------------------ pairs to examples


def example_batches(
    corpus: TokenizedCorpus,
    pairs: np.ndarray,
    masker: PieceMasker,
    vocabulary: Vocabulary,
    max_seq_length: int,
    generator: np.random.Generator,
) -> Iterator[dict[str, np.ndarray]]:
    """Yields the features of the pairs, in their order, a batch at a time.

    Args:
      corpus: where the pieces are.
      pairs: int64 array of shape [pairs, 5], as of `pairs_array`.
      masker: chooses and masks.
      vocabulary: gives the special ids to the packer.
      max_seq_length: the padded length.
      generator: draws the masks.
    """
    import tensorflow as tf

    from kbert.tokenization.segment_packer import SegmentPacker

    packer = SegmentPacker(vocabulary, max_seq_length)
    for start in range(0, len(pairs), EXAMPLES_PER_BATCH):
        first_start, first_end, second_start, second_end, is_random_next = pairs[
            start : start + EXAMPLES_PER_BATCH
        ].T
        packed = packer(
            tf.RaggedTensor.from_row_lengths(*corpus.take(first_start, first_end), validate=False),
            tf.RaggedTensor.from_row_lengths(*corpus.take(second_start, second_end), validate=False),
        )
        input_mask = packed["input_mask"].numpy()
        masked = masker(packed["input_ids"].numpy(), input_mask.sum(axis=1), generator)
        yield {
            "input_ids": masked.input_ids,
            "input_mask": input_mask,
            "segment_ids": packed["segment_ids"].numpy(),
            "masked_lm_positions": masked.positions,
            "masked_lm_ids": masked.answers,
            "masked_lm_weights": masked.weights,
            "next_sentence_labels": is_random_next[:, np.newaxis].astype(np.int32),
        }


# ------------------------------------------------------------------------------ what to tell


class Progress:
    """Logs how far a piece of work is, how fast it goes and how long it will take, every few seconds.

    Args:
      what: the past tense of the work, for example "Wrote".
      unit: what is counted: "examples", or "bytes", which are shown in MB.
      total: how many there will be, or None.
      clock: a function that returns seconds.
    """

    def __init__(self, what: str, unit: str, total: int | None, clock: Callable[[], float] = time.monotonic):
        self._what = what
        self._total = total
        self._clock = clock
        self._scale, self._unit, self._digits = (1e6, "MB", 1) if unit == "bytes" else (1, unit, 0)
        self._start = self._last = clock()
        self._done = 0

    def report(self, done: int):
        """Notes how many are done, and logs a line when it is time for one."""
        self._done = done
        now = self._clock()
        if now - self._last < SECONDS_BETWEEN_PROGRESS_LINES:
            return
        self._last = now
        speed = done / (now - self._start)
        if self._total:
            percent = min(100, 100 * done // self._total)
            seconds_left = max(0, self._total - done) / max(speed, 1e-9)
            ahead = f" of {self._amount(self._total)} ({percent} %), about {seconds_left:.0f} s left"
        else:
            ahead = ""
        logging.info("%s %s%s, %s/s.", self._what, self._amount(done), ahead, self._amount(speed))

    def report_end(self):
        """Logs the last line."""
        seconds = max(self._clock() - self._start, 1e-9)
        amount, speed = self._amount(self._done), self._amount(self._done / seconds)
        logging.info("%s %s in %.1f s, %s/s.", self._what, amount, seconds, speed)

    def _amount(self, number):
        return f"{number / self._scale:,.{self._digits}f} {self._unit}"


def _log_examples(batch, vocabulary):
    for number in range(min(EXAMPLES_TO_LOG, len(batch["input_ids"]))):
        example = {name: values[number] for name, values in batch.items()}
        logging.info("example %d: %s", number, describe_record(example, vocabulary.tokens))


def count_batch(batch, vocabulary: Vocabulary) -> dict[str, int]:
    """Counts of a batch that add up over batches."""
    real = batch["masked_lm_weights"] > 0
    shown = np.take_along_axis(batch["input_ids"], batch["masked_lm_positions"], axis=1)
    is_mask = shown == vocabulary.mask_id
    is_unchanged = shown == batch["masked_lm_ids"]
    return {
        "examples": len(real),
        "places": int(batch["input_mask"].sum()),
        "random_next": int(batch["next_sentence_labels"].sum()),
        "masked": int(real.sum()),
        "shown_mask": int((real & is_mask).sum()),
        "shown_unchanged": int((real & is_unchanged & ~is_mask).sum()),
        "shown_random": int((real & ~is_unchanged & ~is_mask).sum()),
    }


def statistics(corpus: TokenizedCorpus, counts: Counter, vocabulary: Vocabulary) -> dict:
    """What the manifest and the summary say of the records; shares are rounded to six digits."""
    masked = max(1, counts["masked"])
    return {
        "documents": corpus.num_documents,
        "sentences": corpus.num_sentences,
        "tokens": len(corpus.pieces),
        "unknown_share": round(float(np.mean(corpus.pieces == vocabulary.unk_id)), 6),
        "examples": counts["examples"],
        "mean_length": round(counts["places"] / counts["examples"], 6),
        "random_next_share": round(counts["random_next"] / counts["examples"], 6),
        "masked_share": round(counts["masked"] / counts["places"], 6),
        "masked_as_mask_share": round(counts["shown_mask"] / masked, 6),
        "masked_unchanged_share": round(counts["shown_unchanged"] / masked, 6),
        "masked_random_share": round(counts["shown_random"] / masked, 6),
    }


def summary(output_dir: str | Path, manifest: Manifest) -> str:
    """What came out, for the person who asked for it."""
    numbers = manifest.statistics
    return "\n".join(
        [
            f"corpus: {numbers['documents']:,} documents, {numbers['sentences']:,} sentences, "
            f"{numbers['tokens']:,} tokens ({100 * numbers['unknown_share']:.2f} % unknown)",
            f"records: {numbers['examples']:,} examples of {numbers['mean_length']:.1f} tokens on average",
            f"random next: {100 * numbers['random_next_share']:.1f} % (more than half, as in the original)",
            f"masked: {100 * numbers['masked_share']:.1f} % of the tokens; of these "
            f"{100 * numbers['masked_as_mask_share']:.1f} % [MASK], "
            f"{100 * numbers['masked_unchanged_share']:.1f} % unchanged, "
            f"{100 * numbers['masked_random_share']:.1f} % random",
            f"written to {output_dir}: {len(manifest.shards)} shards, manifest.json, vocab.txt",
        ]
    )


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
