"""Where the labelled examples of a fine-tuning lie."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kbert.input_pipelines.tables.table_paths import source_files


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
        if bool(self.train_file) == bool(self.train_dir):
            raise ValueError("give either --train_file or --train_dir (records of kbert finetuning-data).")
        if self.dev_file and self.dev_dir:
            raise ValueError("give either --dev_file or --dev_dir, not both.")
        if self.other_dev_files and not self.have_dev:
            raise ValueError("--other_dev_file goes with --dev_file or --dev_dir, which choose the best.")
        for name in self.other_dev_files:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.startswith("baseline"):
                raise ValueError(
                    f"--other_dev_file={name[:100]}=...: the name stands before those of metrics, as in "
                    "mismatched_accuracy; choose small letters, digits and _, and not baseline."
                )
        for path in (self.train_file, self.dev_file, *self.other_dev_files.values()):
            if path:
                source_files(path)  # raises where there is nothing to read

    @property
    def have_dev(self) -> bool:
        return bool(self.dev_file or self.dev_dir)


def named_files(values: list[str]) -> dict[str, str]:
    """What `--other_dev_file=NAME=PATH` says, given several times: name -> path.

    Raises:
      ValueError: for a value without "=", and for a name that is given twice.
    """
    files = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or not path:
            raise ValueError(
                f"--other_dev_file={value}: expected a name and a file, such as "
                "mismatched=MNLI/dev_mismatched.tsv."
            )
        if name in files:
            raise ValueError(f"--other_dev_file names {name!r} twice; give each file a name of its own.")
        files[name] = path
    return files
