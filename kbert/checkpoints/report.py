"""The report of a conversion: what became of every name, as text for people and as JSON for programs."""

import dataclasses
import fnmatch
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from absl import logging

from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_texts, shown, shown_name
from kbert.files.output_path import other_files
from kbert.files.whole_file import with_escapes, write_json, write_text

JSON_FILE = "conversion_report.json"
TEXT_FILE = "conversion_report.txt"
TRIMMING_FILE = "trimming.json"  # what `kbert trim` adds
_FILES = "files"


def unmatched_patterns(allow_unmatched: Sequence[str] | str) -> tuple[str, ...]:
    """What a user allows to differ: a list of names and globs, or one string with commas between them.

    Raises:
      ValueError: for anything else.
    """
    parts = allow_unmatched.split(",") if isinstance(allow_unmatched, str) else allow_unmatched
    if not isinstance(parts, Collection) or not all(isinstance(part, str) for part in parts):
        raise ValueError(
            f"allow_unmatched={shown(allow_unmatched)}: expected the names or globs of what may differ, "
            'such as ["cls.*"].'
        )
    return tuple(part.strip() for part in parts)


def require_all_matched(run_path, allow_unmatched: Sequence[str] | str):
    """Raises ValueError where something is allowed to differ in a run of kbert, in which nothing may."""
    if allow_unmatched:
        raise ValueError(
            f"allow_unmatched={list(unmatched_patterns(allow_unmatched))} is for checkpoints of other "
            f"libraries, but {run_path} is a run of kbert; leave it out."
        )


@dataclass
class Report:
    """The report of reading or writing one checkpoint; it is filled in the process.

    Args:
      format: one of `kbert.checkpoints`, such as HUGGING_FACE.
      path: where the checkpoint lies.
      taken: (outside name, kbert name, how), how being "as it is", "transposed" and the like.
      left_over: (outside name, why it was not taken).
      not_in_file: (kbert name, where its values come from, or why it was not written).
      notes: sentences on configuration, casing and what else a reader should know.
      allow_unmatched: what the user allows to differ: names and globs of tensors (`cls.*`) and of settings
        (`strip_accents`), see `unmatched_patterns`.
    """

    format: str
    path: str
    taken: list[tuple[str, str, str]] = field(default_factory=list)
    left_over: list[tuple[str, str]] = field(default_factory=list)
    not_in_file: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    allow_unmatched: tuple[str, ...] | str = ()

    def note(self, sentence: str):
        if sentence not in self.notes:
            self.notes.append(sentence)

    def warn(self, sentence: str, advice: str = ""):
        """Notes what may change answers, and logs it with what to do, which goes on with the sentence."""
        self.note(sentence)
        logging.warning("%s%s.", sentence, advice)

    def allows(self, name: str) -> bool:
        """Whether the user lets this tensor or setting differ."""
        patterns = unmatched_patterns(self.allow_unmatched)
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    def conflict(self, name: str, sentence: str):
        """Refuses, or notes where it is allowed, what kbert or the other format would do otherwise.

        Args:
          name: what `allow_unmatched` calls the setting or tensor.
          sentence: what was received and what was expected, without the final full stop.

        Raises:
          ValueError: unless `name` is allowed.
        """
        if not self.allows(name):
            raise ValueError(
                f"{sentence}; to go on anyway (by kbert convert first, where a command cannot be told so), "
                f"pass allow_unmatched={name}."
            )
        self.note(f"{sentence} (allowed by allow_unmatched)")

    def summary(self) -> str:
        """One line: how many names went where."""
        return (
            f"{self.path} ({self.format}): {len(self.taken)} tensors taken, {len(self.left_over)} left over, "
            f"{len(self.not_in_file)} of kbert's not in the file"
        )

    def __str__(self):
        lines = [self.summary()]
        lines += [f"  note: {note}" for note in self.notes]
        width = max((len(outside) for outside, _, _ in self.taken), default=0)
        lines += [f"  taken  {outside:<{width}}  {kbert}  ({how})" for outside, kbert, how in self.taken]
        lines += [f"  left over  {shown_name(name)}: {why}" for name, why in self.left_over]
        lines += [f"  not in the file  {name}: {how}" for name, how in self.not_in_file]
        return "\n".join(lines)


def write_reports(folder: Path, read: Report, written: Report):
    """Writes both reports of a conversion into `folder`, as JSON, with its files, and as text."""
    reports = {"read": dataclasses.asdict(read), "written": dataclasses.asdict(written)}
    for values in reports.values():
        del values["allow_unmatched"]  # what was allowed and differs is among the notes
    write_json(reports | {_FILES: other_files(folder, ())}, folder / JSON_FILE)
    write_text(with_escapes(f"read: {read}\n\nwritten: {written}\n"), folder / TEXT_FILE)


def files_beside(folder: Path) -> list[str]:
    """The files of a folder that no conversion made: all of them where none is recorded.

    Raises:
      ValueError: for a broken report.
    """
    if not (path := folder / JSON_FILE).is_file():
        return other_files(folder, ())
    made = json_texts(read_json_object(path), _FILES, path, ())
    return other_files(folder, (*made, JSON_FILE, TEXT_FILE, TRIMMING_FILE))


def one_line(error) -> str:
    """What an error of another library says, in one short line."""
    return " ".join(str(error).split())[:300].rstrip(".")
