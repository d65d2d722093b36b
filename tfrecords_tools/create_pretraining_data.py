r"""Script: corpus + vocabulary -> masked TFRecords for pretraining.

  python -m tfrecords_tools.create_pretraining_data \
      --input_files='corpus/*.txt' --vocab_file=vocab.txt --output_dir=records

Flags and defaults are those of the original create_pretraining_data.py. The work is done in three stages
of many independent pieces (pretraining_stages.py), on all cores or on an Apache Beam cluster; the records
depend on the seed and the settings, not on who made which piece. A run that was killed leaves
OUTPUT_DIR.unfinished, and the same command goes on there.
"""

import contextlib
import itertools
import math
import os
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from absl import flags, logging

from kbert import command_line
from kbert.manifest import VOCABULARY_FILE_NAME, Manifest, Shard
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.corpus import duplicates
from tfrecords_tools.corpus.corpus_files import is_compressed
from tfrecords_tools.corpus.documents import input_files as find_input_files
from tfrecords_tools.corpus.documents import plan_units, read_documents
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.pretraining import pretraining_settings
from tfrecords_tools.pretraining.example_buckets import count_examples
from tfrecords_tools.pretraining.pretraining_job import PretrainingJob, read_json
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings
from tfrecords_tools.pretraining.pretraining_stages import (
    BLOCK_BYTES,
    FIRST_EXAMPLES,
    PARTNER_BLOCKS,
    BlockToSample,
    Part,
    TextGroup,
    sample_block,
    summary_file,
    tokenize_group,
    write_part,
)
from tfrecords_tools.records.record_statistics import RecordStatistics
from tfrecords_tools.records.record_text import describe_record
from tfrecords_tools.records.record_writer import check_output_dir, replace_output_dir
from tfrecords_tools.records.statistics_page import write_statistics
from tfrecords_tools.work.progress import Progress
from tfrecords_tools.work.worker_pool import WorkerPool, num_cores

FLAGS = flags.FLAGS

# A bucket is shuffled in memory: about three times as much in examples as this, by the pieces of the corpus.
BUCKET_BYTES = 32 << 20
HIGH_UNKNOWN_SHARE = 0.05
EXAMPLES_TO_LOG = 3
BYTES_WORTH_A_WORKER = 4 << 20
_COMPRESSED_TO_TEXT = 4  # a guess, for planning only


def define_flags():
    """Defined on demand, so that a test may import several scripts that share the names of flags."""
    defaults = PretrainingSettings()
    flags.DEFINE_string(
        "input_files",
        None,
        "Text or JSONL files (also .gz, .bz2, .zst), directories and globs, separated by commas.",
    )
    flags.DEFINE_string("vocab_file", None, "The vocab.txt.")
    flags.DEFINE_string("output_dir", None, "The folder to make, with shards, manifest.json and vocab.txt.")
    flags.DEFINE_bool("do_lower_case", defaults.do_lower_case, "Lower-case the text and strip accents.")
    flags.DEFINE_integer(
        "max_seq_length", defaults.max_seq_length, "Length of the sequences, special tokens included."
    )
    flags.DEFINE_integer(
        "max_predictions_per_seq", defaults.max_predictions_per_seq, "Most masked places of a sequence."
    )
    flags.DEFINE_integer(
        "dupe_factor", defaults.dupe_factor, "How many times to go over the corpus, with new masks."
    )
    flags.DEFINE_float("masked_lm_prob", defaults.masked_lm_prob, "Share of a sequence that is masked.")
    flags.DEFINE_float(
        "short_seq_prob", defaults.short_seq_prob, "Share of passes over a document with shorter sequences."
    )
    flags.DEFINE_bool(
        "do_whole_word_mask", defaults.do_whole_word_mask, "Mask words with all their pieces or not at all."
    )
    flags.DEFINE_integer(
        "max_ngram_size",
        defaults.max_ngram_size,
        "Mask runs of up to so many words (pieces, without whole words).",
    )
    flags.DEFINE_enum(
        "strategy",
        defaults.strategy,
        pretraining_settings.STRATEGIES,
        "Pairs with a random or the real next text; running text without pairs; pairs in order or swapped.",
    )
    flags.DEFINE_enum(
        "masking",
        defaults.masking,
        pretraining_settings.MASKINGS,
        "static: masks lie in the records. dynamic: they are drawn anew in every epoch of training.",
    )
    flags.DEFINE_enum(
        "deduplicate",
        defaults.deduplicate,
        pretraining_settings.DEDUPLICATIONS,
        "Drop documents that occurred before: word for word, or nearly.",
    )
    flags.DEFINE_string("text_field", defaults.text_field, "The key of the text in JSONL files.")
    flags.DEFINE_string(
        "split_sentences",
        defaults.split_sentences,
        "Language of running text to cut into sentences, as in 'en'.",
    )
    flags.DEFINE_enum(
        "errors", defaults.errors, ["fail", "skip"], "What to do with lines that are not UTF-8 or not JSON."
    )
    flags.DEFINE_integer("seed", defaults.seed, "The same seed gives the same bytes.")
    flags.DEFINE_integer("num_shards", defaults.num_shards, "How many TFRecord files.")
    flags.DEFINE_enum(
        "compression",
        defaults.compression,
        pretraining_settings.COMPRESSIONS,
        "Compression of the TFRecord files.",
    )
    flags.DEFINE_integer(
        "num_workers", 0, "Processes; 0 for one for each core. The records do not depend on it."
    )
    flags.DEFINE_enum("runner", "local", ["local", "beam"], "This machine, or an Apache Beam pipeline.")
    flags.DEFINE_string(
        "beam_options", "", "Beam's own options, as in '--runner=FlinkRunner --flink_master=host:8081'."
    )
    flags.DEFINE_bool("overwrite", False, "Replace records that are in output_dir, once the new are whole.")
    flags.mark_flags_as_required(["input_files", "vocab_file", "output_dir"])


def main(argv):
    del argv
    manifest = create_pretraining_data(
        FLAGS.input_files,
        FLAGS.vocab_file,
        FLAGS.output_dir,
        num_workers=FLAGS.num_workers,
        runner=FLAGS.runner,
        beam_options=FLAGS.beam_options,
        overwrite=FLAGS.overwrite,
        **{name: FLAGS[name].value for name in PretrainingSettings().to_dict()},
    )
    print(summary(FLAGS.output_dir, manifest))


def create_pretraining_data(
    input_files: str | Path | list[str | Path],
    vocab_file: str | Path,
    output_dir: str | Path,
    *,
    num_workers: int = 1,
    runner: str = "local",
    beam_options: str = "",
    overwrite: bool = False,
    **settings,
) -> Manifest:
    """Writes the records of a corpus; the arguments are the flags.

    Args:
      input_files: as for `corpus_files.input_files`.
      vocab_file: path of the vocab.txt.
      output_dir: the folder to make.
      num_workers: processes; 1 works in this one, 0 takes one for each core.
      runner: "local" or "beam".
      beam_options: Beam's own options, as on a command line.
      overwrite: replace finished records in `output_dir`, once the new ones are whole.
      **settings: the fields of `PretrainingSettings`.

    Returns:
      The manifest that lies in `output_dir`, statistics included.

    Raises:
      ValueError: for files that cannot be read, a corpus of less than two documents, an `output_dir` that
        may not be written, or unfinished work of other settings. Only what is in the middle of a file is
        found late; the rest is said before the work begins.
    """
    settings = PretrainingSettings(**settings)
    check_output_dir(output_dir, overwrite)
    vocabulary = Vocabulary.from_file(vocab_file, settings.do_lower_case)
    files = find_input_files(input_files)
    pool = _worker_pool(runner, num_workers, beam_options, files)
    job = PretrainingJob.create_or_resume(output_dir, settings, vocabulary, files)
    with job.lock():
        groups = text_groups(files)
        if settings.has_pairs and not any(job.tokens.iterdir()):
            _require_two_documents_to_begin_with(groups, job)
        for warning in (vocabulary.casing_warning(), settings.warning()):
            if warning:
                logging.warning(warning)
        with pool:
            blocks, problems, num_dropped = _tokenize(job, pool, groups)
            num_bytes = _total(blocks, "tokens") * settings.dupe_factor * job.piece_dtype.itemsize
            num_parts_of_shard = math.ceil(num_bytes / BUCKET_BYTES / settings.num_shards)
            num_buckets = num_parts_of_shard * settings.num_shards
            num_examples = _sample(job, pool, blocks, num_buckets)
            parts = [Part(f"{bucket:06d}", bucket, num_buckets) for bucket in range(num_buckets)]
            _write_parts(job, pool, parts, num_examples)
        finished, shards, statistics = _assemble(job, parts, num_parts_of_shard)
        manifest = Manifest(
            kind="pretraining",
            features=settings.features(),
            shards=shards,
            vocabulary=vocabulary.describe(),
            settings={
                "input_files": list(map(str, input_files))
                if isinstance(input_files, list)
                else str(input_files),
                "vocab_file": str(vocab_file),
                **settings.to_dict(),
            },
            statistics=_corpus_statistics(blocks, problems, num_dropped)
            | _record_statistics(statistics.to_json(vocabulary)),
        )
        for number, example in enumerate(statistics.examples[:EXAMPLES_TO_LOG]):
            text = describe_record(example, vocabulary.tokens, manifest.settings)
            logging.info("example %d: %s", number, text)
        _finish(job, finished, output_dir, manifest, statistics, overwrite)
    return manifest


def _worker_pool(runner, num_workers, beam_options, files):
    if runner == "beam":
        from tfrecords_tools.work.beam_pool import BeamPool

        return BeamPool(beam_options)
    if beam_options:
        raise ValueError("--beam_options are for --runner=beam.")
    if num_workers == 0:  # no more than are worth the seconds in which each imports TensorFlow
        num_bytes = sum(_text_bytes(file) for file in files)
        num_workers = min(num_cores(), 1 + num_bytes // BYTES_WORTH_A_WORKER)
    return WorkerPool(num_workers)


# ------------------------------------------------------------------------------ the stages


def text_groups(files: list[Path]) -> list[TextGroup]:
    """The pieces of the first stage; they depend on the names and sizes of the files alone."""
    groups, units, num_bytes = [], [], 0
    for unit in plan_units(files, BLOCK_BYTES):
        units.append(unit)
        num_bytes += _text_bytes(Path(unit.file)) if unit.end < 0 else unit.end - unit.start
        if num_bytes >= BLOCK_BYTES // 2:
            groups.append(units)
            units, num_bytes = [], 0
    if units:
        groups.append(units)
    return [TextGroup(f"{number:06d}", tuple(units)) for number, units in enumerate(groups)]


def _text_bytes(file) -> int:
    """About how much text a file holds."""
    return file.stat().st_size * (_COMPRESSED_TO_TEXT if is_compressed(file) else 1)


def _tokenize(job, pool, groups):
    """The first stage. Returns (blocks with their counts, `Problems`, number of duplicates dropped)."""
    sizes = {group.name: sum(_unit_bytes(unit) for unit in group.units) for group in groups}
    _run(job.tokens, pool, tokenize_group, job, groups, sizes, "Tokenised", "bytes")
    summaries = [read_json(summary_file(job.tokens, group.name)) for group in groups]
    blocks = [block for found in summaries for block in found["blocks"]]
    problems = Problems.merge(Problems.from_json(found["problems"]) for found in summaries)
    for line in problems.summary():
        logging.warning("%s", line)
    num_dropped = _drop_duplicates(job, groups, blocks) if job.settings.deduplicate != "none" else 0
    num_documents = _total(blocks, "documents") - num_dropped
    if num_documents < 1:
        raise ValueError("the input files hold no text: not a single piece came out of them.")
    if job.settings.has_pairs:
        require_two_documents(num_documents)
    share = _total(blocks, "unknown") / _total(blocks, "tokens")
    if share > HIGH_UNKNOWN_SHARE:
        logging.warning(
            "%.1f %% of all pieces are [UNK]: is vocab_file made for this language and casing?", 100 * share
        )
    return blocks, problems, num_dropped


def _unit_bytes(unit):
    return Path(unit.file).stat().st_size if unit.end < 0 else unit.end - unit.start


def _drop_duplicates(job, groups, blocks) -> int:
    """Writes for each block which of its documents occurred before; returns how many did."""
    fingerprints = np.concatenate(
        [np.load(job.tokens / f"{group.name}.fingerprints.npy") for group in groups]
    )
    dropped = duplicates.duplicates(fingerprints, job.settings.deduplicate)
    place = 0
    for block in blocks:
        of_block = dropped[place : place + block["documents"]]
        place += block["documents"]
        np.save(job.tokens / f"{block['name']}.dropped.npy", of_block)
    logging.info("Dropped %d of %d documents as duplicates.", dropped.sum(), len(dropped))
    return int(dropped.sum())


def _sample(job, pool, blocks, num_buckets) -> int:
    """The second stage. Returns how many examples there are."""
    names = [block["name"] for block in blocks if block["tokens"]]
    pieces = [BlockToSample(name, number, _partners(job, names, number)) for number, name in enumerate(names)]
    sizes = {block["name"]: block["tokens"] for block in blocks}
    _run(job.examples, pool, sample_block, job, pieces, sizes, "Sampled from", "tokens", num_buckets)
    return sum(int(count_examples(job.examples / f"{name}.bin", num_buckets).sum()) for name in names)


def _partners(job, names, number) -> tuple[tuple[str, ...], ...]:
    """For each pass the blocks, beside its own, that a block takes random texts from: all, or a sample."""
    others = names[:number] + names[number + 1 :]
    if len(others) <= PARTNER_BLOCKS:
        return (tuple(others),) * job.settings.dupe_factor
    rng = random.Random(f"{job.settings.seed}/partners/{number}")
    return tuple(tuple(rng.sample(others, PARTNER_BLOCKS)) for _ in range(job.settings.dupe_factor))


def _write_parts(job, pool, parts, num_examples):
    """The third stage."""
    counts = np.zeros(len(parts), np.int64)
    for path in job.examples.glob("*.bin"):
        counts += count_examples(path, len(parts))
    sizes = dict(zip((part.name for part in parts), counts.tolist(), strict=True))
    _run(job.parts, pool, write_part, job, parts, sizes, "Wrote", "examples")


def _run(
    folder, pool, function: Callable, job, pieces: Iterable, sizes: dict, what: str, unit: str, *arguments
):
    """Does the pieces that have no summary yet, and reports how far they are."""
    waiting = [piece for piece in pieces if not summary_file(folder, piece.name).is_file()]
    total = sum(sizes[piece.name] for piece in pieces)
    done = total - sum(sizes[piece.name] for piece in waiting)
    if done:
        logging.info(
            "%s %d of %d pieces in an earlier run; going on.", what, len(pieces) - len(waiting), len(pieces)
        )
    progress = Progress(what, unit, total, already_done=done)
    work = _Work(function, job, arguments)
    for piece, _ in zip(waiting, pool.map(work, waiting), strict=True):
        done += sizes[piece.name]
        progress.report(done)
    progress.report_end()


class _Work:
    """A stage's function with all its arguments but the piece; sent to the workers."""

    def __init__(self, function, job, arguments):
        self._function, self._job, self._arguments = function, job, arguments

    def __call__(self, piece):
        self._function(self._job, piece, *self._arguments)


# ------------------------------------------------------------------------------ the whole


def _assemble(job, parts, num_parts_of_shard) -> tuple[Path, tuple[Shard, ...], RecordStatistics]:
    """Puts the shards together from their parts; records follow one another in a file, so bytes do too.

    Returns:
      (the folder they are in, the shards, the statistics of all records).
    """
    num_shards, suffix = job.settings.num_shards, job.settings.shard_suffix
    finished = job.path / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    finished.mkdir()
    statistics = RecordStatistics(job.settings.features(), job.vocabulary())
    shards = []
    for number in range(num_shards):
        name = f"pretraining-{number:05d}-of-{num_shards:05d}{suffix}"
        num_examples = 0
        of_shard = parts[number * num_parts_of_shard : (number + 1) * num_parts_of_shard]
        for part in of_shard:
            found = read_json(summary_file(job.parts, part.name))
            num_examples += found["examples"]
            with np.load(job.parts / f"{part.name}.npz") as counts:
                statistics.add(counts)
        _join_files([job.parts / f"{part.name}{suffix}" for part in of_shard], finished / name)
        shards.append(Shard(name, num_examples))
    if (job.parts / FIRST_EXAMPLES).is_file():
        with np.load(job.parts / FIRST_EXAMPLES) as columns:
            rows = zip(*(columns[name] for name in columns), strict=True)
            statistics.examples = [dict(zip(columns, row, strict=True)) for row in rows]
    return finished, tuple(shards), statistics


def _join_files(paths, target):
    if len(paths) == 1:
        with contextlib.suppress(OSError):  # a file system without links: copied below
            os.link(paths[0], target)
            return
    with open(target, "wb") as joined:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, joined, 1 << 20)


def _finish(job, finished, output_dir, manifest, statistics, overwrite):
    """Completes the folder of finished records, gives it its name, and clears the work away."""
    job.vocabulary().write(finished / VOCABULARY_FILE_NAME)
    manifest.write(finished)
    write_statistics(finished, manifest, statistics)
    replace_output_dir(finished, output_dir, overwrite)
    shutil.rmtree(job.path, ignore_errors=True)


def require_two_documents(num_documents: int):
    """Raises ValueError when there is no other document to take a random next text from."""
    if num_documents < 2:
        raise ValueError(
            f"the input holds {num_documents} document{'' if num_documents == 1 else 's'}, but random "
            "next sentences come from other documents, so at least 2 are needed: put a blank line between "
            "documents, give more files, or take --strategy=full_sentences."
        )


def _require_two_documents_to_begin_with(groups, job):
    """The same, before any work: reads until the second document."""
    documents = itertools.chain.from_iterable(
        read_documents(unit, job.text_format, Problems()) for group in groups for unit in group.units
    )
    require_two_documents(sum(1 for _ in itertools.islice(documents, 2)))


def _total(blocks, key) -> int:
    return sum(block[key] for block in blocks)


def _corpus_statistics(blocks, problems, num_dropped) -> dict:
    """What the manifest says of the corpus; shares are rounded to six digits."""
    tokens = _total(blocks, "tokens")
    return {
        "documents": _total(blocks, "documents") - num_dropped,
        "documents_dropped_as_duplicates": num_dropped,
        "lines_skipped": problems.count,
        "sentences": _total(blocks, "sentences"),
        "tokens": tokens,
        "unknown_share": round(_total(blocks, "unknown") / tokens, 6),
    }


def _record_statistics(numbers) -> dict:
    """What the manifest says of the records; statistics.json says more."""
    examples = numbers["records"]
    values = {"examples": examples, "mean_length": round(numbers["tokens"] / examples, 6)}
    if "next_sentence" in numbers:
        values["random_next_share"] = round(numbers["next_sentence"][1] / examples, 6)
    if masking := numbers.get("masking"):
        values["masked_share"] = round(masking["places"] / numbers["tokens"], 6)
        for name in ("as_mask", "unchanged", "random"):
            values[f"masked_{name}_share"] = round(masking[f"shown_{name}"] / masking["places"], 6)
    return values


def summary(output_dir: str | Path, manifest: Manifest) -> str:
    """What came out, for the person who asked for it."""
    numbers, settings = manifest.statistics, manifest.settings
    lines = [
        f"corpus: {numbers['documents']:,} documents, {numbers['sentences']:,} sentences, "
        f"{numbers['tokens']:,} tokens ({100 * numbers['unknown_share']:.2f} % unknown)"
    ]
    if settings["deduplicate"] != "none":
        lines.append(f"dropped as duplicates: {numbers['documents_dropped_as_duplicates']:,} documents")
    if numbers["lines_skipped"]:
        lines.append(f"skipped: {numbers['lines_skipped']:,} lines that could not be read")
    lines.append(
        f"records: {numbers['examples']:,} examples of {numbers['mean_length']:.1f} tokens on average"
    )
    if settings["strategy"] == "sentence_pairs":
        lines.append(
            f"random next: {100 * numbers['random_next_share']:.1f} % (more than half, as in the original)"
        )
    elif settings["strategy"] == "sentence_order":
        lines.append(
            f"swapped (or, for single sentences, random): {100 * numbers['random_next_share']:.1f} %"
        )
    if settings["masking"] == "static":
        lines.append(
            f"masked: {100 * numbers['masked_share']:.1f} % of the tokens; of these "
            f"{100 * numbers['masked_as_mask_share']:.1f} % [MASK], "
            f"{100 * numbers['masked_unchanged_share']:.1f} % unchanged, "
            f"{100 * numbers['masked_random_share']:.1f} % random"
        )
    else:
        lines.append("masked: while the records are read, anew in every epoch")
    lines.append(
        f"written to {output_dir}: {len(manifest.shards)} shards, manifest.json, vocab.txt, statistics.html"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
