"""What the user has allowed to differ, by name: tensors and settings that would otherwise be an error."""

import fnmatch

from kbert.checkpoints.report import Report


class Allowance:
    """The names and globs of --allow_unmatched.

    Args:
      patterns: names or globs of tensors (`cls.*`) and of settings (`strip_accents`), or one string with
        commas between them.
    """

    def __init__(self, patterns=()):
        if isinstance(patterns, str):
            patterns = patterns.split(",")
        self.patterns = tuple(pattern.strip() for pattern in patterns if pattern.strip())

    def __contains__(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)

    def conflict(self, name: str, sentence: str, report: Report):
        """Reports a setting that kbert cannot follow, or two settings that contradict each other.

        Args:
          name: what --allow_unmatched calls it.
          sentence: what was found and what was expected, without the final full stop.
          report: takes the sentence as a note when the conflict is allowed.

        Raises:
          ValueError: unless `name` is allowed.
        """
        if name not in self:
            raise ValueError(f"{sentence}; to go on anyway, pass --allow_unmatched={name}.")
        report.note(f"{sentence} (allowed by --allow_unmatched)")
