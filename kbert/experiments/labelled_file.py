"""The labelled examples of a file, with the face that records of them have."""

import contextlib
import functools

from kbert.input_pipelines.labelled_files import fingerprint_of


class LabelledFile:
    """A file's examples, tokenized on the fly; see `LabelledRecords` for the same made beforehand.

    Args:
      path: the file.
      task_class: the class of `Task` that reads it.
      dataset: the `DatasetConfig`.

    Attributes:
      path: as given.
      examples: all examples.
      dataset: the `DatasetConfig`, complete.

    Raises:
      ValueError: naming file and line, for whatever does not fit.
    """

    manifest = None

    def __init__(self, path, task_class, dataset):
        self.path = path
        self.examples = list(task_class.read_examples(path, dataset))
        self.dataset = task_class.complete_dataset(dataset, self.examples)
        self.fingerprint = fingerprint_of(self.examples)
        self._task = self._text_inputs = None

    @property
    def num_examples(self) -> int:
        return len(self.examples)

    def agreed_dataset(self, dataset):
        """The complete dataset, made of the examples' own."""
        del dataset
        return self.dataset

    def require_vocabulary(self, owner, vocabulary: dict):
        """Texts go with any vocabulary."""

    def require_one_batch(self, batch_size: int):
        """Raises ValueError when there are fewer examples than one batch."""
        from kbert.input_pipelines import text_reader

        text_reader.require_one_batch(self.num_examples, batch_size)

    def tokenize_with(self, task, text_inputs):
        """Says how examples become features; that is done when the first are asked for."""
        self._task, self._text_inputs = task, text_inputs

    @functools.cached_property
    def _rows(self):
        return self._task.examples_to_features(self.examples, self._text_inputs)

    def first_rows(self, number: int) -> dict:
        """The features of the first examples, as arrays."""
        return {name: values[:number] for name, values in self._rows.features.items()}

    def evaluated_examples(self):
        """The examples, and which of them each row belongs to."""
        return self.examples, self._rows.owners

    def training_batches(self, *arguments, **options):
        """See `text_reader.training_batches`."""
        from kbert.input_pipelines import text_reader

        return text_reader.training_batches(self._rows.features, *arguments, **options)

    def evaluation_batches(self, *arguments, **options):
        """See `text_reader.evaluation_batches`."""
        from kbert.input_pipelines import text_reader

        return text_reader.evaluation_batches(self._rows.features, *arguments, **options)

    def naming_damaged_records(self):
        """There are none."""
        return contextlib.nullcontext()
