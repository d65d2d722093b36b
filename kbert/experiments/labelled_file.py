"""The labelled examples of a file, with the same methods as records of labelled examples."""

import collections
import contextlib
import copy

from kbert.input_pipelines.held_out_split import digest_examples, held_out_indices, with_reversed
from kbert.input_pipelines.labelled_files import examples_fingerprint
from kbert.input_pipelines.repeated_rows import hashes_as_read


class LabelledFile:
    """The examples of a file, as text. (`LabelledRecords` holds those that were tokenized before.)

    Args:
      path: the file.
      files: the `Files` of the task that reads it.
      dataset: the `DatasetConfig`.

    Attributes:
      path: as given.
      examples: all examples.
      whole: of a part of a `split`, the file that was split; else this one.
      dataset: the `DatasetConfig`, complete.

    Raises:
      ValueError: when a line does not have the expected form; the message names file and line.
    """

    manifest = None

    def __init__(self, path, files, dataset):
        self.path, self._files, self.whole = path, files, self
        self.examples = list(files.read_examples(path, dataset))
        self.dataset = files.complete_dataset(dataset, self.examples, path)
        self.fingerprint = examples_fingerprint(self.examples)

    @property
    def num_examples(self) -> int:
        return len(self.examples)

    def split(
        self, fraction: float, seed: int, recorded: str | None = None
    ) -> "tuple[LabelledFile, LabelledFile]":
        """(what stays for training, what is held out), each in the order of the file.

        The second does not depend on the order of the file. See `held_out_indices`.

        Args:
          fraction, seed: the share to hold out, and which of them.
          recorded: the digest of what a run has held out. A kbert that compared texts exactly split a file
            with copies in other capitals in another way: that split, where the digest is its own.

        Raises:
          ValueError: when nothing would be held out.
        """
        if recorded:
            with contextlib.suppress(ValueError):
                exact = self._split(self._files.groups(self.examples), fraction, seed, stay=1)
                if exact[1].digest == recorded:
                    return exact
        return self._split(self._groups(), fraction, seed, stay=1)

    def _groups(self):
        """For each example the least of the texts that read like its own, or like its two in the other order.
        So a file without such copies is split as it was when texts were compared exactly, and its runs are
        resumed and evaluated."""
        read = hashes_as_read()
        pairs = [read(tuple(self._files.texts(example)[:2])) for example in self.examples]
        read = with_reversed(pairs, [*map(hash, self._files.groups([*map(read, self.examples)]))])
        exact = self._files.groups(self.examples)
        least: dict[int, str] = {}
        for text, group in zip(exact, read, strict=True):
            least[group] = min(text, least.get(group, text))
        return [least[group] for group in read]

    def _split(self, groups, fraction, seed, stay):
        strata = self._files.strata(self.examples)
        held_out = set(held_out_indices(groups, strata, fraction, seed, stay))
        shares: tuple[list, list] = [], []
        for index, example in enumerate(self.examples):
            shares[index in held_out].append(example)
        return self._part(shares[0]), self._part(shares[1])

    def at_most(self, number: int, seed: int) -> "LabelledFile":
        """At most `number` of the examples in the order of the file, drawn as `split` draws held-out ones,
        but each by itself: equal texts may stand on both sides."""
        if number >= self.num_examples:
            return self
        groups, times = [], collections.Counter()
        for group in self._files.drawn_by(self.examples):
            groups.append(f"{group}\0{times[group]}" if times[group] else group)
            times[group] += 1
        drawn = self._split(groups, number / self.num_examples, seed, stay=0)[1]
        drawn.whole = drawn  # a few of many examples do not keep the others in memory
        return drawn

    def _part(self, examples):
        share = copy.copy(self)
        share.examples, share.fingerprint = examples, examples_fingerprint(examples)
        return share

    @property
    def digest(self) -> str:
        """SHA-256 of the examples, whatever their order."""
        return digest_examples(self.examples)

    def count_labels(self) -> tuple[dict[str, int], int]:
        """(label -> how often the examples have it, the number of examples)."""
        counts = collections.Counter(
            label for example in self.examples for label in self._files.labels(example)
        )
        return dict(counts), len(self.examples)

    def agreed_dataset(self, dataset):
        """The complete `DatasetConfig`; here always this file's own."""
        return self.dataset

    def check_with(self, task, max_seq_length: int, owner, vocabulary: dict):
        """Raises ValueError when the examples do not fit the task's settings. Any vocabulary will do."""
        task.check_examples(self.examples, max_seq_length)
