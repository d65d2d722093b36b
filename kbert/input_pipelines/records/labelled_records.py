"""Records of labelled texts -> the batches that training and evaluation on live text would see."""

import dataclasses

from kbert.config import DatasetConfig, from_dict
from kbert.input_pipelines.records.record_folder import RecordFolder
from kbert.input_pipelines.records.record_shares import WHOLE
from kbert.manifest import FILE_NAME


class LabelledRecords(RecordFolder):
    """A folder that tfrecords_tools.create_finetuning_data has made.

    Args:
      directory: the folder.
      task_class: the class of `Task` that they are for.
      max_seq_length: the length that the model is for.
      errors: "fail" stops at a damaged record; "skip" looks for them now and goes without.
      settings: the `settings_class` of the run's task; None where it has none.

    Attributes:
      directory, manifest: as given and read.
      dataset: the `DatasetConfig` that the records were made with, labels included.
      num_examples: how many there are; where examples became several rows, such as windows of a long text,
        how many examples, by which steps are counted.

    Raises:
      ValueError: when the folder holds no finished set of records, records of another kind or length, or
        none at all.
    """

    def __init__(self, directory, task_class, max_seq_length: int, errors: str = "fail", settings=None):
        super().__init__(directory)
        if self.manifest.kind != task_class.name:
            raise ValueError(
                f"{directory} holds {self.manifest.kind} records, but the task is {task_class.name}; make "
                "some with python -m tfrecords_tools.create_finetuning_data."
            )
        length = self.length
        self.dataset = from_dict(
            DatasetConfig, self.manifest.settings.get("dataset", {}), where=f"{directory}/{FILE_NAME}"
        )
        theirs = self._settings(task_class)
        self.require_features(task_class.of_dataset(self.dataset, theirs).features(length))
        self._require_row_settings(task_class, theirs, settings or task_class.settings_class())
        if length != max_seq_length:
            raise ValueError(
                f"{directory} was made with max_seq_length={length}, but this run has "
                f"max_seq_length={max_seq_length}; make the records again, or a run of that length."
            )
        self._all_rows = self.manifest.num_examples
        if errors == "skip":
            self.leave_out_damaged()
        if not self.num_examples:
            raise ValueError(f"{directory} holds no examples; make records of a file that has rows.")

    @property
    def num_examples(self) -> int:
        # Where damaged rows are left out, as large a part of the examples is taken to be lost.
        examples = self.manifest.statistics.get("source_examples", self._all_rows)
        return self.manifest.num_examples * examples // max(1, self._all_rows)

    def _settings(self, task_class):
        values = self.manifest.settings.get("task_settings", {})
        return task_class.read_settings(values, f"{self.directory}/{FILE_NAME}: task_settings")

    def _require_row_settings(self, task_class, theirs, ours):
        for name in task_class.row_settings:
            made_with, wanted = getattr(theirs, name), getattr(ours, name)
            if made_with != wanted:
                raise ValueError(
                    f"{self.directory} was made with task_settings.{name}={made_with!r}, but this run has "
                    f"{wanted!r}; make the records again, or let the config say the same."
                )

    def agreed_dataset(self, dataset: DatasetConfig) -> DatasetConfig:
        """The dataset of a run on these records: its own, with the records' labels.

        Raises:
          ValueError: when it lists other labels, or pairs where the records have single texts.
        """
        theirs = self.dataset
        if dataset.labels and dataset.labels != theirs.labels:
            raise ValueError(
                f"{self.directory} was made with the labels {list(theirs.labels)}, but this run has "
                f"{list(dataset.labels)}; make the records again, or let the config list the same labels."
            )
        if bool(dataset.text_pair) != bool(theirs.text_pair):
            kinds = {True: "pairs of texts", False: "single texts"}
            raise ValueError(
                f"{self.directory} holds {kinds[bool(theirs.text_pair)]}, but dataset.text_pair="
                f"{dataset.text_pair!r} asks for {kinds[bool(dataset.text_pair)]}."
            )
        return dataclasses.replace(dataset, labels=theirs.labels)

    # The face that a file of labelled examples has as well, see kbert/experiments/labelled_file.py.
    @property
    def fingerprint(self) -> str | None:
        return self.manifest.fingerprint

    def require_one_batch(self, batch_size: int):
        """Raises ValueError when they are fewer than one batch."""
        from kbert.input_pipelines.records import record_reader

        record_reader.require_one_batch(self.directory, self.manifest, batch_size)

    def tokenize_with(self, task, text_inputs):
        """They have been tokenized."""

    def first_rows(self, number: int) -> dict:
        """The features of the first records, as arrays."""
        return next(self.evaluation_batches(number, False).as_numpy_iterator())

    def training_batches(
        self, batch_size: int, seed: int, start_example: int, pad_to_longest: bool, *, share=WHOLE
    ):
        """Endless shuffled batches; see record_reader.training_batches."""
        return _trimmed(
            super().training_batches(batch_size, seed, start_example, share=share), pad_to_longest
        )

    def evaluation_batches(
        self, batch_size: int, pad_to_longest: bool, with_fill: bool = False, *, share=WHOLE
    ):
        """Every example once, in order, with `example_weights`; see record_reader.evaluation_batches."""
        return _trimmed(
            super().evaluation_batches(batch_size, with_fill=with_fill, share=share), pad_to_longest
        )


def _trimmed(batches, pad_to_longest):
    if not pad_to_longest:
        return batches
    import tensorflow as tf

    from kbert.input_pipelines.text_reader import trim_padding

    return batches.map(trim_padding, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
