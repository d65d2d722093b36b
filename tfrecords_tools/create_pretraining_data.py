r"""Script: corpus + vocabulary -> masked TFRecords for pretraining.

  kbert pretraining-data \
      --input_files='corpus/*.txt' --vocab_file=vocab.txt --output_dir=records
  kbert pretraining-data \
      --input_files='corpus/*.txt' --tokenizer=FOLDER --output_dir=records

Defaults are those of the original create_pretraining_data.py, as are most names of flags. It uses all
cores, or an Apache Beam cluster. The records depend on the input, the seed and the settings alone. A command
that is killed leaves OUTPUT_DIR.unfinished, and the same command resumes it. A command that fails because of
its input leaves nothing of its own.
"""

import dataclasses
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from absl import logging

from kbert.checkpoints.vocabulary_source import read_source
from kbert.checks import with_checked_arguments
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.features import PRETRAINING_RECORDS
from kbert.manifest import Manifest
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES
from tfrecords_tools.corpus.corpus_files import input_files as find_input_files
from tfrecords_tools.corpus.corpus_files import input_folders, require_outside, separated, text_bytes
from tfrecords_tools.corpus.documents import require_text_field
from tfrecords_tools.corpus.written_marks import say_written_marks
from tfrecords_tools.pretraining import pretraining_job, sampling_stage, tokenization_stage, writing_stage
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings
from tfrecords_tools.records import record_statistics, record_text, record_writer
from tfrecords_tools.work.beam_pool import BeamPool
from tfrecords_tools.work.worker_pool import WITH_TENSORFLOW, WorkerPool, workers_worth

EXAMPLES_TO_LOG = 3
_LOGGED = 88  # characters of each
_STAGES = tuple(
    f"tfrecords_tools.pretraining.{stage}_stage" for stage in ("tokenization", "sampling", "writing")
)
# Shares of records or tokens from which on `advice` speaks.
_HIGH_RANDOM_SHARE, _HIGH_SHARE_WITHOUT, _LOW_INNER_SHARE = 0.9, 0.01, 0.01


@with_checked_arguments
def create_pretraining_data(
    input_files: str | Path | Sequence[str | Path],
    vocab_file: str | Path | None,
    output_dir: str | Path,
    *,
    tokenizer: str | Path | None = None,
    allow_unmatched: Sequence[str] | str = (),
    num_workers: int = 1,
    runner: Literal["local", "beam"] = "local",
    beam_options: str = "",
    overwrite: bool = False,
    **settings,
) -> Manifest:
    """Writes the records of a corpus; the arguments are the flags.

    Args:
      input_files: text or JSONL files (also .gz, .bz2, .xz, .zst), directories and globs, separated by
        commas.
      vocab_file, tokenizer, allow_unmatched: as for `vocabulary_source.read_source`; None for one of the
        first two.
      output_dir: the folder to make, with shards, manifest.json and vocabulary.
      num_workers: number of processes; 0 means one per core, fewer for small corpora. The records do not
        depend on it. In Python 1 works in this process. Beam's are said by `beam_options`.
      runner: this machine, or an Apache Beam pipeline.
      beam_options: Beam's own options, such as '--runner=FlinkRunner --flink_master=host:8081'.
      overwrite: replace the records in `output_dir` once the new ones are complete.
      **settings: the fields of `PretrainingSettings`.

    Returns:
      The manifest that was written to `output_dir`, statistics included.

    Raises:
      ValueError: for files that cannot be read, a corpus of fewer than two documents (where pairs need two),
        an `output_dir` that may not be written, or unfinished work with other settings. Only problems inside
        a file are found late; all others are reported before the work begins.
      OSError: when the disk is full, a worker was killed, or another process works on the same records.
    """
    settings = PretrainingSettings(**settings)
    files = find_input_files(input_files)
    require_text_field(settings.text_field, files)
    source = [path for path in (vocab_file, tokenizer) if path]
    record_writer.check_output_dir(output_dir, overwrite, [*files, *input_folders(input_files), *source])
    vocabulary = read_source(vocab_file, tokenizer, settings.do_lower_case, allow_unmatched)
    settings = dataclasses.replace(settings, do_lower_case=vocabulary.do_lower_case)
    pool = _worker_pool(runner, num_workers, beam_options, files, vocabulary, output_dir)
    with pretraining_job.PretrainingJob.create_or_resume(output_dir, settings, vocabulary, files) as job:
        with job.removed_on_wrong_input():
            require_outside(input_files, job.path)
            say_written_marks(files, settings.text_format(), vocabulary)
            groups = tokenization_stage.text_groups(files)
            if settings.has_pairs and not any(job.tokens.iterdir()):
                tokenization_stage.check_two_documents(groups, job)
        for sentence in settings.warnings():
            logging.warning("%s", sentence)
        with pool:
            with job.removed_on_wrong_input():
                blocks, corpus_statistics = tokenization_stage.tokenize_corpus(job, pool, groups)
            buckets_per_shard = sampling_stage.sample_corpus(job, pool, blocks)
            folder, shards, statistics = writing_stage.write_shards(job, pool, buckets_per_shard)
        manifest = Manifest(
            kind=PRETRAINING_RECORDS,
            features=settings.features(),
            shards=shards,
            vocabulary=vocabulary.describe(),
            settings={
                "input_files": [*map(str, separated(input_files))],
                "vocab_file": str(source[0]),
                **dataclasses.asdict(settings),
            },
            statistics=corpus_statistics
            | _record_statistics(statistics.to_json(vocabulary))
            | statistics.word_shares(vocabulary),
        )
        _log_examples(statistics.examples, vocabulary, manifest)
        for sentence in _advice(manifest):
            logging.warning("%s", sentence)
        writing_stage.finish(job, folder, output_dir, manifest, statistics, overwrite)
    return manifest


def _worker_pool(runner, num_workers, beam_options, files, vocabulary, output_dir):
    if runner == "beam":
        if num_workers > 1:
            raise ValueError(
                f"--num_workers={num_workers} has no effect with --runner=beam, whose number is one "
                "of the --beam_options; leave it out."
            )
        return BeamPool(beam_options, pretraining_job.unfinished(output_dir))
    if beam_options:
        raise ValueError("--beam_options has no effect without --runner=beam; pass both, or leave it out.")
    # WordPieces are cut without TensorFlow, unless the corpus has very many different words.
    modules = _STAGES if isinstance(vocabulary, Vocabulary) else WITH_TENSORFLOW
    return WorkerPool(num_workers or workers_worth(sum(map(text_bytes, files))), modules)


def _log_examples(examples, vocabulary, manifest):
    for number, example in enumerate(examples[:EXAMPLES_TO_LOG]):
        text = record_text.describe_record(example, vocabulary, manifest.settings)
        logging.info("example %d: %s", number, textwrap.shorten(text, _LOGGED, placeholder=" ..."))


def _record_statistics(numbers) -> dict:
    """The manifest's statistics of the records; statistics.json holds more."""
    examples = numbers["records"]
    mean_length = record_statistics.share(numbers["tokens"], examples)
    values = {"examples": examples, "mean_length": mean_length, "longest": numbers["longest"]}
    if "next_sentence" in numbers:
        values["random_next_share"] = record_statistics.share(numbers["next_sentence"][1], examples)
    if masking := numbers.get("masking"):
        values["masked_share"] = masking["share"]
        for name in ("as_mask", "unchanged", "random"):
            values[f"masked_{name}_share"] = record_statistics.share(
                masking[f"shown_{name}"], masking["predictions"]
            )
    return values


def _advice(manifest: Manifest) -> list[str]:
    """A sentence for each thing in the records that is seldom meant, with what to do."""
    numbers, settings, sentences = manifest.statistics, manifest.settings, []
    if numbers.get(
        "random_next_share", 0
    ) >= _HIGH_RANDOM_SHARE and not tokenization_stage.has_single_sentences(numbers):
        sentences.append(
            f"{100 * numbers['random_next_share']:.1f}% of the pairs have no real next text: most lines fill "
            "a record alone. Cut them into sentences (--split_sentences=en), or take "
            "--pairing=full_sentences."
        )
    if (without := numbers.get("without_predictions_share", 0)) >= _HIGH_SHARE_WITHOUT:
        sentences.append(
            f"{100 * without:.1f}% of the records have no token to predict, as in the original: "
            "--do_whole_word_mask masks a word whole or not at all, and all words of these records have more "
            f"than the {_most_predictions(settings)} tokens that may be masked. In a script without spaces "
            "a line is one word: leave --do_whole_word_mask out, or put spaces between the words first."
        )
    if settings["do_whole_word_mask"] and numbers["inner_share"] < _LOW_INNER_SHARE:
        sentences.append(
            f"--do_whole_word_mask changes next to nothing here: {100 * numbers['inner_share']:.1f}% of the "
            "tokens continue a word. Each Chinese character is a word of its own, as in the original; "
            "--max_ngram_size=3 masks neighbours together."
        )
    return sentences


def _most_predictions(settings) -> int:
    """Tokens that may be masked in a record of the full length, see `PieceMasker.num_to_predict`."""
    wanted = round(settings["max_seq_length"] * settings["masked_lm_prob"])
    return min(settings["max_predictions_per_seq"], max(1, wanted))


def summary(output_dir: str | Path, manifest: Manifest) -> str:
    """Lines that tell the user the result."""
    numbers, settings = manifest.statistics, manifest.settings
    lines = [
        f"corpus: {numbers['documents']:,} documents, {numbers['sentences']:,} sentences, "
        f"{numbers['tokens']:,} tokens ({100 * numbers['unknown_share']:.2f}% unknown)"
    ]
    if settings["deduplicate"] != "none":
        lines.append(f"dropped as duplicates: {numbers['documents_dropped_as_duplicates']:,} documents")
    if numbers["lines_skipped"]:
        lines.append(f"skipped: {numbers['lines_skipped']:,} lines that could not be read")
    lines.append(
        f"records: {numbers['examples']:,} examples of {numbers['mean_length']:.1f} tokens on average"
    )
    if settings["pairing"] == "sentence_pairs":
        random = numbers["random_next_share"]
        usual = " (more than half, as in the original)" if 0.5 < random < _HIGH_RANDOM_SHARE else ""
        lines.append(f"random next: {100 * random:.1f}%{usual}")
    elif settings["pairing"] == "sentence_order":
        lines.append(f"swapped (or, for single sentences, random): {100 * numbers['random_next_share']:.1f}%")
    if settings["masking"] == "static":
        lines.append(
            f"masked: {100 * numbers['masked_share']:.1f}% of the tokens, special ones included; of these "
            f"{100 * numbers['masked_as_mask_share']:.1f}% [MASK], "
            f"{100 * numbers['masked_unchanged_share']:.1f}% unchanged, "
            f"{100 * numbers['masked_random_share']:.1f}% random"
        )
    else:
        lines.append("masked: not yet; training draws new masks in every epoch")
    if without := numbers.get("without_predictions_share"):
        lines.append(f"without a token to predict: {100 * without:.1f}% of the records")
    files = [name for name in VOCABULARY_FILES if (Path(output_dir) / name).is_file()]
    lines.append(
        f"written to {output_dir}: {len(manifest.shards)} shards, manifest.json, {', '.join(files)}, "
        "statistics.html"
    )
    return "\n".join(lines)


def define_flags():
    declare_flags(create_pretraining_data, read_source, defaults={"vocab_file": None, "num_workers": 0})
    declare_flags(PretrainingSettings, read_source)


def main():
    arguments = flag_values(create_pretraining_data)
    manifest = create_pretraining_data(**arguments, **flag_values(PretrainingSettings))
    print(summary(arguments["output_dir"], manifest))


if __name__ == "__main__":
    define_flags()
    script.run(main)
