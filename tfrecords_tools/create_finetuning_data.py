r"""Script: labelled text + vocabulary -> TFRecords for fine-tuning.

  kbert finetuning-data --config=configs/finetuning/sst2.toml \
      --input_file=sst2/train.tsv --vocab_file=vocab.txt --output_dir=records/sst2_train

The config is the one for training: its `task` and `dataset` describe the file, its `max_seq_length` is the
length of the examples. Texts pass through the same tokenizer and packer as when training reads the text
itself, so `kbert finetune` learns from the same numbers with --train_dir as with --train_file.
"""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absl import flags, logging

from kbert.bounds import NO_FLAG, Bounds
from kbert.checkpoints import formats
from kbert.checkpoints.vocabulary_source import read_source
from kbert.checks import require_single, with_checked_arguments
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import Progress
from kbert.cli.shares import held_shares, say_shares
from kbert.config import DRAWN_ROWS, DatasetConfig, FinetuningConfig, FlagOverride, load_config, to_dict
from kbert.features import LABEL_FEATURE
from kbert.input_pipelines.records import record_reader
from kbert.input_pipelines.records.record_folders import require_records
from kbert.input_pipelines.tables.table_paths import require_one_split
from kbert.manifest import Manifest, describe_shards
from kbert.tasks import TASKS
from kbert.tasks.file_columns import check_file, require_files, require_read
from kbert.tokenization import text_inputs
from kbert.tokenization.unknown_pieces import warn_of_unknown_pieces
from kbert.tokenization.written_tokens import looked_at, say_written_tokens
from tfrecords_tools.records import record_statistics, record_writer, statistics_page, tfrecord_files
from tfrecords_tools.work.worker_pool import StoredVocabulary, WorkerPool, byte_batches

if TYPE_CHECKING:
    from tfrecords_tools.records.record_statistics import RecordStatistics

FLAGS = flags.FLAGS
_CALLED = {"overrides": "override"}  # parameter -> flag

# How many examples there were, where an example became several rows.
_SOURCE_EXAMPLES = "source_examples"
# How many examples have another label than the one before.
_CHANGES = "changes"
_SORTED = 0.02  # of the changes that a random order has
# How many sequences there are, where an example has several of them, such as the choices of multiple choice.
_SEQUENCES = "sequences"
# At most 2,048 rows at once, fewer where texts are very long.
_CHARACTERS_AT_ONCE = 1 << 22
_LEAST_CHARACTERS_OF_ROW = 1 << 11


@with_checked_arguments
def create_finetuning_data(
    config: str | Path,
    input_file: str | Path,
    output_dir: str | Path,
    *,
    vocab_file: str | Path | None = None,
    tokenizer: str | Path | None = None,
    do_lower_case: bool | None = None,
    init_checkpoint: str | Path | None = None,
    allow_unmatched: Sequence[str] | str = (),
    overrides: Sequence[str] = (),
    max_seq_length: Annotated[int, Bounds(1)] | None = None,
    num_shards: int = 1,
    compression: Literal["none", "gzip"] = "none",
    shuffle_seed: Annotated[int, NO_FLAG] | None = None,
    num_workers: int = 1,
    overwrite: bool = False,
) -> Manifest:
    """Writes the records of a labelled file; the arguments are the flags.

    The file is streamed: memory holds a few thousand rows. If the config lists no labels, the file is first
    read once to find them.

    Args:
      config: the fine-tuning config: task, dataset, max_seq_length.
      input_file: labelled file, such as .tsv, .csv.gz, .jsonl, or .parquet (a pattern in quotes for several);
        or a folder of `datasets`.
      output_dir: the folder to make, with shards, manifest.json and vocabulary.
      vocab_file, tokenizer, do_lower_case, allow_unmatched: as for `vocabulary_source.read_source`.
      init_checkpoint: instead of `vocab_file`: take the vocabulary of this checkpoint, a run of kbert, a
        Hugging Face folder or Google's TF1 checkpoint.
      overrides: a changed setting of the config, for example dataset.label=judgment.
      max_seq_length: length of the examples; by default that of the config.
      num_shards: how many TFRecord files.
      compression: compression of the TFRecord files.
      shuffle_seed: a number for random order; None keeps the order of the file.
      num_workers: number of processes; 0 means one per core. The records do not depend on it. Each process
        takes seconds to start, so several pay off only from about a million rows on.
      overwrite: replace the records in `output_dir` once the new ones are complete.

    Returns:
      The manifest that was written to `output_dir`.

    Raises:
      ValueError: for a config, file or vocabulary that cannot be read, rows that do not fit the config, or an
        `output_dir` that may not be written. Nothing is left behind.
      OSError: when the disk is full. Nothing is left behind then either.
    """
    source = [path for path in (vocab_file, tokenizer, init_checkpoint) if path]
    record_writer.check_output_dir(output_dir, overwrite, [config, input_file, *source])
    require_one_split(input_file)
    settings = _read_config(config, overrides, max_seq_length)
    require_read(settings.task, settings.dataset, [input_file])
    checked = check_file(settings.task, input_file, settings.dataset)
    vocabulary = _read_vocabulary(vocab_file, tokenizer, init_checkpoint, do_lower_case, allow_unmatched)

    # From here on TensorFlow is loaded; all checks that do not need it have passed.
    task_settings = TASKS[settings.task].read_settings(settings.task_settings)
    dataset = checked.dataset if checked else _complete_dataset(settings, input_file)
    require_read(settings.task, dataset, [input_file])  # now with the labels of the file
    record_settings = {
        "config": str(config),
        "input_file": str(input_file),
        "vocab_file": str(source[0]),
        "max_seq_length": settings.max_seq_length,
        "num_shards": num_shards,
        "compression": compression,
        "shuffle_seed": shuffle_seed,
        "dataset": to_dict(dataset),
        "task_settings": to_dict(task_settings),
    }
    labels_of = None if settings.dataset.labels else input_file
    task = TASKS[settings.task].from_dataset(dataset, task_settings, labels_of)
    features = task.features(settings.max_seq_length)
    with record_writer.record_folder(output_dir, overwrite) as folder:
        vocabulary.write_files(folder)
        stored = StoredVocabulary(folder, vocabulary.describe(), vocabulary.fingerprint)
        job = Job(settings.task, dataset, task_settings, stored, settings.max_seq_length)
        shards = record_writer.ShardWriter(folder, settings.task, num_shards, compression, shuffle_seed)
        with WorkerPool(num_workers) as pool, shards:
            progress = Progress("Wrote", "examples", checked.num_examples if checked else None)
            rows = _read_rows(job, input_file, vocabulary)
            counted = _write(
                job, rows, pool, shards, record_statistics.RecordStatistics(features, vocabulary), progress
            )
        statistics = _statistics(counted, vocabulary, dataset)
        warn_of_unknown_pieces(statistics["unknown_share"])
        if shuffle_seed is None:
            _warn_of_sorted_rows(counted.counts)
        manifest = Manifest(
            kind=settings.task,
            features=features,
            shards=describe_shards(folder, shards.num_examples),
            vocabulary=vocabulary.describe(),
            settings=record_settings,
            statistics=statistics,
        )
        statistics_page.write_statistics(folder, manifest, counted)
        manifest.write(folder)
    return manifest


def _read_config(config, overrides, max_seq_length) -> FinetuningConfig:
    """The config of a task that reads labelled files."""
    overrides = list(overrides)
    if max_seq_length is not None:
        length = f"max_seq_length={max_seq_length}"
        overrides.append(FlagOverride(length, f"--{length}"))
    settings = load_config(FinetuningConfig, config, overrides)
    require_files(settings.task)
    require_records(TASKS[settings.task])
    for name in DRAWN_ROWS:
        if value := getattr(settings, name):
            raise ValueError(
                f"{name}={value} draws examples when a training reads the file, but records hold all of it; "
                f"leave {name} out (override {name}=null), or cut the file."
            )
    return settings


def _read_vocabulary(vocab_file, tokenizer, init_checkpoint, do_lower_case, allow_unmatched):
    require_single({"vocab_file": vocab_file, "tokenizer": tokenizer, "init_checkpoint": init_checkpoint})
    if not init_checkpoint:
        return read_source(vocab_file, tokenizer, do_lower_case, allow_unmatched)
    return formats.read_checkpoint(init_checkpoint, do_lower_case, allow_unmatched).vocabulary


def _complete_dataset(settings, input_file):
    """The config's `DatasetConfig`, with the labels of the file where it lists none."""
    files = require_files(settings.task)
    examples = files.read_examples(input_file, settings.dataset)
    return files.complete_dataset(settings.dataset, examples, input_file)


def _read_rows(job, input_file, vocabulary):
    """The examples of a labelled file; says of how they are written what training says."""
    examples = TASKS[job.task].files.read_examples(input_file, job.dataset)
    for row in looked_at(examples, vocabulary, input_file):
        say_written_tokens([row], vocabulary, input_file)
        yield row


def _write(job, rows, pool, shards, counted, progress):
    """Writes all examples to the shards; returns their statistics."""
    batches = byte_batches(
        rows, _CHARACTERS_AT_ONCE, size=lambda row: max(_characters(row), _LEAST_CHARACTERS_OF_ROW)
    )
    with held_shares() as held:
        for records, new_counts, shares in pool.map(functools.partial(encode_rows, job), batches):
            shards.write(records)
            counted.merge(new_counts)
            say_shares(shares)
            progress.report(int(counted.counts[_SOURCE_EXAMPLES][0]))
    progress.report_end()
    say_shares(held)
    return counted


@dataclasses.dataclass(frozen=True)
class Job:
    """What a worker needs to know, the same for all rows."""

    task: str
    dataset: DatasetConfig
    task_settings: Any
    vocabulary: StoredVocabulary
    max_seq_length: int

    def __hash__(self):  # settings may hold tables, which have none
        return hash((self.task, self.max_seq_length))


def encode_rows(job: Job, rows: list) -> "tuple[list[bytes], RecordStatistics, dict]":
    """Rows -> serialized examples in the same order, their statistics, and what is to be said of them."""
    import numpy as np

    task, vocabulary, features, text_inputs = _tools(job)
    # Training on records cannot check the examples any more: it does not see them.
    task.check_examples(rows, job.max_seq_length)
    with held_shares() as shares:
        columns = task.examples_to_features(rows, text_inputs).features
    for name, values in columns.items():
        if not np.isfinite(values).all():
            raise ValueError(
                f"some examples of {task.name} have no number for {name}, which records must hold; train and "
                "evaluate it from labelled files."
            )
    counted = record_statistics.RecordStatistics(features, vocabulary)
    counted.update(columns)
    counted.add({_SOURCE_EXAMPLES: np.array([len(rows)])})
    labels = columns.get(LABEL_FEATURE)
    if labels is not None and labels.ndim == 1:
        counted.add({_CHANGES: np.array([np.count_nonzero(labels[1:] != labels[:-1])])})
    return tfrecord_files.encode_examples(columns, features), counted, shares


@functools.lru_cache(maxsize=1)
def _tools(job):
    task = TASKS[job.task].from_dataset(job.dataset, job.task_settings)
    vocabulary = job.vocabulary.read()
    features = task.features(job.max_seq_length)
    return task, vocabulary, features, text_inputs.TextInputs(vocabulary, job.max_seq_length)


def _characters(cell):
    """How many characters a cell of an example holds; a cell is a text, several texts, or no text."""
    if isinstance(cell, tuple):
        return sum(map(_characters, cell))
    return len(cell) if isinstance(cell, str) else 0


def _warn_of_sorted_rows(counts):
    """Warns of labels one after the other in more rows than training shuffles."""
    if _CHANGES not in counts or (number := counts["labels"].sum()) <= record_reader.SHUFFLE_BUFFER:
        return
    expected = number * (1 - ((counts["labels"] / number) ** 2).sum())
    if counts[_CHANGES][0] < _SORTED * expected:
        logging.warning(
            "the rows are sorted by label, and training on records shuffles %s at a time: an epoch would "
            "begin with the first labels and end with the last. Make records for training with --shuffle.",
            f"{record_reader.SHUFFLE_BUFFER:,}",
        )


def _statistics(counted, vocabulary, dataset):
    """The statistics in the manifest; statistics.json holds more."""
    values, num_examples = counted.to_json(vocabulary), int(counted.counts.get(_SOURCE_EXAMPLES, [0])[0])
    chosen = {
        "examples": values["records"],
        "tokens": values["tokens"],
        "fill_rate": values["fill_rate"],
        "unknown_share": values["unknown_share"],
        "at_full_length": values["lengths"][values["max_seq_length"]],
    }
    if num_examples != values["records"]:
        chosen[_SOURCE_EXAMPLES] = num_examples
    if values["sequences"] != values["records"]:
        chosen[_SEQUENCES] = values["sequences"]
    if "labels" in values:
        names = dataset.labels or dataset.choices
        counts = values["labels"] + [0] * (len(names) - len(values["labels"]))
        chosen["labels"] = dict(zip(names, counts, strict=True))
    return chosen


def summary(output_dir: str | Path, manifest: Manifest) -> str:
    """Lines that tell the user the result."""
    numbers = manifest.statistics
    sequences = max(1, numbers.get(_SEQUENCES, numbers["examples"]))
    unit = "examples"
    if _SOURCE_EXAMPLES in numbers:
        unit = f"windows of {numbers[_SOURCE_EXAMPLES]:,} examples,"
    if _SEQUENCES in numbers:
        unit = f"examples in {numbers[_SEQUENCES]:,} sequences,"
    lines = [
        f"records: {numbers['examples']:,} {unit} of {numbers['tokens'] / sequences:.1f} tokens on "
        "average, "
        f"{100 * numbers['at_full_length'] / sequences:.1f}% at the full length of "
        f"{manifest.settings['max_seq_length']}, {100 * numbers['unknown_share']:.2f}% unknown",
    ]
    if "labels" in numbers:
        shares = (f"{name} {count:,}" for name, count in numbers["labels"].items())
        lines.append(f"labels: {', '.join(shares)}")
    lines.append(f"written to {output_dir}: {len(manifest.shards)} shards, manifest.json, statistics.html")
    return "\n".join(lines)


def define_flags():
    declare_flags(create_finetuning_data, read_source, called=_CALLED, repeated=("overrides",))
    flags.DEFINE_bool(
        "shuffle",
        False,
        "Put the examples in random order, for training on a file that is sorted by label. By default they "
        "keep the order of the file.",
    )
    flags.DEFINE_integer("seed", 12345, "For --shuffle; the same seed gives the same bytes.", lower_bound=0)


def main():
    seed, arguments = FLAGS["seed"], flag_values(create_finetuning_data, _CALLED)
    if seed.present and not FLAGS.shuffle:
        raise ValueError(
            f"--seed={seed.value} draws the order of --shuffle, which is not given; give both or neither."
        )
    manifest = create_finetuning_data(**arguments, shuffle_seed=seed.value if FLAGS.shuffle else None)
    print(summary(arguments["output_dir"], manifest))


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
