"""The report of a conversion: what became of every name, as text for people and as JSON for programs."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from kbert.files.json_values import shown_name
from kbert.files.whole_file import write_json, write_text

JSON_FILE = "conversion_report.json"
TEXT_FILE = "conversion_report.txt"


@dataclass
class Report:
    """The report of reading or writing one checkpoint; it is filled in the process.

    Args:
      format: "google", "hugging_face", "keras_hub" or "kbert".
      path: where the checkpoint lies.

    Attributes:
      taken: (outside name, kbert name, how), how being "as it is", "transposed" and the like.
      left_over: (outside name, why it was not taken).
      not_in_file: (kbert name, where its values come from, or why it was not written).
      notes: sentences on configuration, casing and what else a reader should know.
    """

    format: str
    path: str
    taken: list[tuple[str, str, str]] = field(default_factory=list)
    left_over: list[tuple[str, str]] = field(default_factory=list)
    not_in_file: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str):
        if sentence not in self.notes:
            self.notes.append(sentence)

    def summary(self) -> str:
        """One line: how many names went where."""
        return (
            f"{self.path} ({self.format}): {len(self.taken)} tensors taken, {len(self.left_over)} left over, "
            f"{len(self.not_in_file)} of kbert's not in the file"
        )

    def to_dict(self) -> dict:
        return dataclasses.asdict(self)

    def __str__(self):
        lines = [self.summary()]
        lines += [f"  note: {note}" for note in self.notes]
        width = max((len(outside) for outside, _, _ in self.taken), default=0)
        lines += [f"  taken  {outside:<{width}}  {kbert}  ({how})" for outside, kbert, how in self.taken]
        lines += [f"  left over  {shown_name(name)}: {why}" for name, why in self.left_over]
        lines += [f"  not in the file  {name}: {how}" for name, how in self.not_in_file]
        return "\n".join(lines)


def write_reports(folder: Path, read: Report, written: Report):
    """Writes both reports of a conversion into `folder`, as JSON and as text."""
    values = {"read": read.to_dict(), "written": written.to_dict()}
    write_json(values, folder / JSON_FILE)
    write_text(f"read: {read}\n\nwritten: {written}\n", folder / TEXT_FILE)
