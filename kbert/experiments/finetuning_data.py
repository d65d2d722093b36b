"""The labelled examples of a fine-tuning: where they lie; opened and shared out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from absl import logging

from kbert.checks import require_single
from kbert.config import DatasetConfig, FinetuningConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.files.json_values import first_few
from kbert.input_pipelines.data_files import shown_source
from kbert.input_pipelines.held_out_split import far_fewer
from kbert.input_pipelines.records.record_folders import LabelledRecords, warn_of_trained_records
from kbert.input_pipelines.repeated_rows import repetitions, shared_rows
from kbert.input_pipelines.tables.table_paths import require_one_split
from kbert.runs import run_directory  # late: it loads NumPy, which --help has no use for
from kbert.runs.run_file import holds_run
from kbert.tasks import TASKS
from kbert.tasks.file_columns import reads_without_tensorflow, require_files, require_read

# What `no_better_than_constant` and `is_calibration` find in names of metrics.
_METRIC_WORDS = {"baseline", "best", "chosen"}


@dataclass(frozen=True)
class LabelledPaths:
    """The training data, and optionally the development data: each a labelled file or a folder of records.

    Args:
      train_file, dev_file: labelled files with the columns of `config.dataset`; or tables, see `find_table`.
      train_dir, dev_dir: folders with records of create_finetuning_data, instead of files.
      other_dev_files: name -> a further labelled file to evaluate on, such as MNLI's mismatched one. Its
        metrics have the name before their own: `mismatched_accuracy`; the training refuses a name with which
        two metrics would be called the same. The best checkpoint is chosen by `dev_file` or `dev_dir` alone.

    Raises:
      ValueError: when both or none of `train_file` and `train_dir` are given, when both `dev_file` and
        `dev_dir` are given, when a name cannot stand before that of a metric, or when a file does not exist.
    """

    train_file: str | Path | None = None
    dev_file: str | Path | None = None
    train_dir: str | Path | None = None
    dev_dir: str | Path | None = None
    other_dev_files: Mapping[str, str | Path] = field(default_factory=dict)

    def __post_init__(self):
        records = "train_dir (records of kbert finetuning-data)"
        require_single({"train_file": self.train_file, records: self.train_dir})
        if self.has_dev:
            require_single({"dev_file": self.dev_file, "dev_dir": self.dev_dir})
        for name, path in self.other_dev_files.items():
            if path in (None, ""):
                raise ValueError(f"the development file {name[:100]!r} has no path; give one.")
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not _METRIC_WORDS.isdisjoint(name.split("_")):
                raise ValueError(
                    f"the development file {name[:100]!r}: the name becomes a prefix of metrics, as in "
                    "mismatched_accuracy; expected small letters, digits and _, without the words of metrics "
                    f"{', '.join(sorted(_METRIC_WORDS))}."
                )
        for path in self.files:
            require_one_split(path)

    @property
    def has_dev(self) -> bool:
        return bool(self.dev_file or self.dev_dir)

    @property
    def files(self) -> list[str | Path]:
        """All labelled files."""
        paths = (self.train_file, self.dev_file, *self.other_dev_files.values())
        return [path for path in paths if path is not None]

    @property
    def has_records(self) -> bool:
        return bool(self.train_dir or self.dev_dir)


@dataclass(frozen=True)
class FinetuningData:
    """The opened examples.

    Args:
      train: a `LabelledFile` or `LabelledRecords`.
      dev: development data by what stands before the names of its metrics; those that choose the best
        checkpoint come first, under "".
      dataset: the complete `DatasetConfig`.
    """

    train: Any
    dev: dict[str, Any]
    dataset: DatasetConfig

    @property
    def all(self) -> list:
        return [self.train, *self.dev.values()]

    def details(self, config: FinetuningConfig) -> dict:
        """For run.json: `held_out` tells the examples of a `dev_split` again, for `evaluate`."""
        named = {prefix: data.fingerprint for prefix, data in self.dev.items()}
        evaluated = "+".join(prefix + fingerprint for prefix, fingerprint in named.items()) or None
        details = {
            "num_train_examples": self.train.num_examples,
            "data": {"train": self.train.fingerprint, "eval": evaluated},
        }
        if config.dev_split:
            held_out = self.dev[""]
            details["held_out"] = {"num_examples": held_out.num_examples, "digest": held_out.digest}
        return details


def reads_early(config: FinetuningConfig, paths: LabelledPaths) -> bool:
    """Whether `open_data` needs no TensorFlow: then it says what is wrong in a file before that loads."""
    return not paths.has_records and all(
        reads_without_tensorflow(config.task, path, config.dataset) for path in paths.files
    )


def open_data(config: FinetuningConfig, paths: LabelledPaths, run_dir=None) -> FinetuningData:
    """Reads the labelled files and opens the records, and holds out what `dev_split` says.

    Args:
      config, paths: what `finetune` was given.
      run_dir: the folder of the run; one that is there keeps what it has held out.

    Raises:
      ValueError: when a file cannot be read, the task is not one that is fine-tuned, or nothing
        reads what `config.dataset` says, with the labels that were found.
    """
    files = require_files(config.task)

    def open_source(file, directory, dataset):
        if file:
            return LabelledFile(file, files, dataset)
        task_class = TASKS[config.task]
        settings = task_class.read_settings(config.task_settings)
        return LabelledRecords(directory, task_class, config.max_seq_length, settings)

    whole = train = open_source(paths.train_file, paths.train_dir, config.dataset)
    if paths.train_file:
        _say_repetitions(whole, files)
    dataset = whole.agreed_dataset(config.dataset)
    dev = {"": open_source(paths.dev_file, paths.dev_dir, dataset)} if paths.has_dev else {}
    if paths.dev_dir:
        dev[""].require_order()
        warn_of_trained_records(dev[""], [train])
    if config.dev_split:
        details = run_directory.RunDirectory(run_dir).details if run_dir and holds_run(run_dir) else {}
        recorded = details.get("held_out", {}).get("digest")
        train, dev[""] = whole.split(config.dev_split, config.dev_split_seed, recorded)
        if sentence := far_fewer(config.dev_split, dev[""].num_examples, whole.num_examples):
            logging.warning("%s", sentence)
        _warn_of_labels(f"dev_split={config.dev_split}", whole, {"training": train, "evaluation": dev[""]})
    if config.max_train_examples:
        fewer = train.at_most(config.max_train_examples, config.dev_split_seed)
        _warn_of_labels(f"max_train_examples={config.max_train_examples}", train, {"training": fewer})
        train = fewer
    if config.dev_split:
        _log_split(config, {"training": train, "evaluation": dev[""]})
    for name, path in paths.other_dev_files.items():
        dev[f"{name}_"] = open_source(path, None, dataset)
    for data in dev.values():
        data.agreed_dataset(dataset)
        if paths.train_file and data.examples is not None and data.whole is not whole:
            both = ([*map(files.content, part.examples)] for part in (train, data))
            if shared := shared_rows(*both):
                logging.warning("%s: %s", shown_source(data.path), shared)
    if paths.train_file:  # records may have been made when more was allowed
        require_read(config.task, dataset, () if paths.has_records else paths.files)
    return FinetuningData(train, dev, dataset)


def _say_repetitions(data, files):
    repeated, contradicting = repetitions([*map(files.content, data.examples)])
    if repeated:
        logging.info("%s: %s", shown_source(data.path), repeated)
    if contradicting:
        logging.warning("%s: %s", shown_source(data.path), contradicting)


def _log_split(config, shares):
    for name, data in shares.items():
        counts, number = data.count_labels()
        labels = ", ".join(f"label {label}: {counts[label]:,}" for label in sorted(counts))
        logging.info(
            "dev_split=%s: %s examples for %s%s",
            config.dev_split,
            f"{number:,}",
            name,
            labels and f" ({labels})",
        )


def _warn_of_labels(setting, whole, shares):
    """Warns of labels of a file that a share of it does not have."""
    before = whole.count_labels()[0]
    for name, data in shares.items():
        if missing := sorted(set(before) - set(data.count_labels()[0]), key=str):
            counted = [f"{label!r} ({before[label]:,} in the file)" for label in missing]
            logging.warning(
                "%s leaves no example for %s with label%s %s: give more rows with it, a larger share, or a "
                "dev_file of your own.",
                setting,
                name,
                "s" * (len(missing) > 1),
                first_few(counted, 5),
            )
