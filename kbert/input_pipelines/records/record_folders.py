"""Folders of records, opened and checked without TensorFlow: of any kind, for pretraining, labelled."""

import dataclasses
import fnmatch
import json

from absl import logging

from kbert.config import DatasetConfig, from_dict
from kbert.features import (
    MASK_FEATURES,
    NEXT_SENTENCE_LABELS,
    PRETRAINING_RECORDS,
    WINDOW_FEATURE,
    WORD_FEATURE,
    Feature,
    pretraining_features,
)
from kbert.input_pipelines.records.record_files import require_vocabulary, require_written_bytes
from kbert.manifest import FILE_NAME, read_manifest

_HIGH_SHARE_WITHOUT = 0.01  # of records without a token to predict: from here on that is said


class RecordFolder:
    """A folder with a complete set of records.

    Args:
      directory: the folder.

    Attributes:
      directory, manifest: as given and read.

    Raises:
      ValueError: when the folder holds no complete set of records.
    """

    in_turn = False  # whether a row of each shard follows one of each other
    examples = None  # records hold features, but not the examples that they were made from

    def __init__(self, directory):
        self.path = self.directory = directory
        self.manifest = read_manifest(directory)

    def require_features(self, expected: dict[str, Feature]):
        """Raises ValueError unless the records have these features, with these dtypes and shapes."""
        for name, feature in expected.items():
            if self.manifest.features.get(name) != feature:
                raise ValueError(
                    f"{self.directory} has {name} as {self.manifest.features.get(name)}, expected {feature}; "
                    "make the records again."
                )

    @property
    def max_seq_length(self) -> int:
        """The length of a row in tokens.

        Raises:
          ValueError: when the manifest does not define it.
        """
        feature = self.manifest.features.get("input_ids")
        if feature is None or not feature.shape or not feature.shape[-1]:
            raise ValueError(
                f"{self.directory} has input_ids as {feature}, expected rows of a fixed length; make the "
                "records again."
            )
        return feature.shape[-1]

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    @property
    def num_examples(self) -> int:
        return self.manifest.num_examples

    def check(self):
        """Raises ValueError for a shard that is not what was written, see `require_written_bytes`."""
        require_written_bytes(self.directory, self.manifest)

    def require_vocabulary(self, owner, vocabulary: dict):
        """Raises ValueError when the records were made with another vocabulary than that of `owner`."""
        require_vocabulary(self.directory, self.manifest, owner, vocabulary)


class PretrainingRecords(RecordFolder):
    """A folder of records made by tfrecords_tools.create_pretraining_data.

    Args:
      directory: the folder.

    Attributes:
      directory, manifest: as given and read.

    Raises:
      ValueError: when the folder holds no complete set of records, or records of another kind.
    """

    def __init__(self, directory):
        super().__init__(directory)
        if self.manifest.kind != PRETRAINING_RECORDS:
            raise ValueError(
                f"{directory} holds records of kind {self.manifest.kind!r}, expected pretraining records; "
                "make them with kbert pretraining-data."
            )
        features = self.manifest.features
        masks = [features[name].shape for name in MASK_FEATURES if name in features]
        expected = pretraining_features(
            self.max_seq_length,
            masks[0][-1] if masks and masks[0] else 1,
            with_masks=bool(masks),
            with_next_sentence=self.next_sentence,
        )
        self.require_features(expected)
        without = self.manifest.statistics.get("without_predictions_share", 0)
        if without >= _HIGH_SHARE_WITHOUT:
            logging.warning(
                "%.1f%% of the records of %s have no token to predict: the masked LM learns nothing from "
                "them, and nothing of it is scored (docs/data.md, Pretraining records).",
                100 * without, directory,
            )  # fmt: skip

    @property
    def next_sentence(self) -> bool:
        """Whether the records hold pairs of texts and a label for their relation."""
        return NEXT_SENTENCE_LABELS in self.manifest.features

    @property
    def longest(self) -> int:
        """The tokens of the longest records, rounded up to 64: padding trains no positions behind them."""
        longest = self.manifest.statistics.get("longest", self.max_seq_length)
        return min(self.max_seq_length, -(-longest // 64) * 64)

    def require_room(self, encoder):
        """Raises ValueError when an `EncoderConfig` has too few positions or pieces for these records."""
        if self.max_seq_length > encoder.max_position_embeddings:
            raise ValueError(
                f"{self.directory} has max_seq_length={self.max_seq_length}, but the encoder has only "
                f"max_position_embeddings={encoder.max_position_embeddings}; make shorter records, or more "
                f"positions: a checkpoint gets them by kbert convert --max_position_embeddings="
                f"{self.max_seq_length}, random weights by the config."
            )
        size = self.manifest.vocabulary["size"]
        if size > encoder.vocab_size:
            raise ValueError(
                f"the records' vocabulary has {size} tokens, but the encoder's vocab_size is "
                f"{encoder.vocab_size}; set vocab_size to at least {size}."
            )


def warn_of_trained_records(held_out, trained):
    """Warns where records for evaluation are those of a training, or of a text that it names, too.

    Args:
      held_out: a `RecordFolder`.
      trained: what is trained on, with `fingerprint`s.
    """
    trained_files = [pattern for data in trained for pattern in _input_files(data)]
    own = [path for path in _input_files(held_out) if any(_names(other, path) for other in trained_files)]
    if held_out.fingerprint in [data.fingerprint for data in trained]:
        logging.warning(
            "%s: all %s examples for evaluation are also training examples: scores on them say little about "
            "other texts.", held_out.path, f"{held_out.num_examples:,}",
        )  # fmt: skip
    elif own:
        logging.warning(
            "%s: the input_files of the training records name those that it is made from, %s: if it is the "
            "same text, scores on it say little about others.", held_out.path, ", ".join(own),
        )  # fmt: skip


def _input_files(data) -> list[str]:
    settings = data.manifest.settings if data.manifest else {}
    files = settings.get("input_files", settings.get("input_file", []))  # one of labelled records
    return files if isinstance(files, list) else [files]  # older versions wrote a string for several, too


def _names(pattern, path):
    """Whether `input_files` name a path or glob: by a glob too, whose `*` stays within a folder."""
    is_as_deep = "**" in pattern or pattern.count("/") == path.count("/")
    return path == pattern or (is_as_deep and fnmatch.fnmatchcase(path, pattern))


def require_records(task_class):
    """Raises ValueError for a class of `Task` whose rows records cannot hold."""
    if not task_class.can_record:
        raise ValueError(
            f"the task {task_class.name} has no records: its model says which tokens of a text count and "
            "what fills a short one, and records know no model; give labelled files."
        )


class LabelledRecords(RecordFolder):
    """A folder of records made by tfrecords_tools.create_finetuning_data.

    Args:
      directory: the folder.
      task_class: the class of `Task` that the records are for.
      max_seq_length: the maximum length of the run.
      settings: the `settings_class` of the run's task; None takes its defaults.

    Attributes:
      directory, manifest: as given and read.
      dataset: the `DatasetConfig` that the records were made with, including labels.
      num_examples: the number of examples. If examples became several rows, such as the windows of a long
        text, it counts the examples, and training counts its steps by them.

    Raises:
      ValueError: when the task has no records, or the folder holds no complete set of them, records of
        another kind or length, or no examples.
    """

    in_turn = True  # in the order of their file: the rows of an example follow each other

    def __init__(self, directory, task_class, max_seq_length: int, settings=None):
        require_records(task_class)
        super().__init__(directory)
        self._task_class = task_class
        if self.manifest.kind != task_class.name:
            raise ValueError(
                f"{directory} holds {self.manifest.kind} records, but the task is {task_class.name}; make "
                "records for this task with kbert finetuning-data."
            )
        length = self.max_seq_length
        self.dataset = from_dict(
            DatasetConfig, self.manifest.settings.get("dataset", {}), where=f"{directory}/{FILE_NAME}"
        )
        theirs = self._settings(task_class)
        self._require_row_settings(task_class, theirs, settings or task_class.settings_class())
        task = task_class.from_dataset(self.dataset, settings or theirs)
        self.require_features(task.features(length))
        if length != max_seq_length:
            raise ValueError(
                f"{directory} was made with max_seq_length={length}, but this run has "
                f"max_seq_length={max_seq_length}; make the records again, or use {length} for the run."
            )
        self.check()
        if not self.num_examples:
            raise ValueError(f"{directory} holds no examples; make the records from a file with rows.")

    @property
    def num_examples(self) -> int:
        return self.manifest.statistics.get("source_examples", self.manifest.num_examples)

    def require_order(self):
        """Raises ValueError where examples became several rows that were shuffled, and scores put them
        together by their order. Rows of questions are scored one by one."""
        rows, shuffle_seed = self.manifest.num_examples, self.manifest.settings.get("shuffle_seed")
        are_joined = not {WINDOW_FEATURE, WORD_FEATURE}.isdisjoint(self.manifest.features)
        if are_joined and shuffle_seed is not None and rows != self.num_examples:
            raise ValueError(
                f"{self.directory}: its {rows:,} rows are parts of {self.num_examples:,} examples and were "
                "shuffled, so the parts of one cannot be scored together; make the records of an evaluation "
                "without --shuffle."
            )

    def _settings(self, task_class):
        values = self.manifest.settings.get("task_settings", {})
        return task_class.read_settings(values, f"{self.directory}/{FILE_NAME}: task_settings")

    def _require_row_settings(self, task_class, theirs, ours):
        theirs, ours = (task_class.settings_at(each, self.max_seq_length) for each in (theirs, ours))
        for name in task_class.row_settings:
            made_with, wanted = getattr(theirs, name), getattr(ours, name)
            if made_with != wanted:
                raise ValueError(
                    f"{self.directory} was made with task_settings.{name}={made_with!r}, but this run has "
                    f"{wanted!r}; make the records with task_settings.{name}={json.dumps(wanted)}, or train "
                    "with what they have."
                )

    def agreed_dataset(self, dataset: DatasetConfig) -> DatasetConfig:
        """The `DatasetConfig` of a run on these records: `dataset`, with the labels of the records, and their
        positive label and choices where it says none.

        Raises:
          ValueError: when `dataset` lists other labels, when only one of the two has pairs of texts, or when
            it makes another task than that of the records did, as negatives and another number of choices do.
        """
        theirs = self.dataset
        if dataset.labels and dataset.labels != theirs.labels:
            raise ValueError(
                f"{self.directory} was made with the labels {list(theirs.labels)}, but this run has "
                f"{list(dataset.labels)}: make the records again with dataset.labels="
                f"{json.dumps(dataset.labels, ensure_ascii=False)}, or let the config list "
                "those of the records."
            )
        if bool(dataset.text_pair) != bool(theirs.text_pair):
            kinds = {True: "pairs of texts", False: "single texts"}
            raise ValueError(
                f"{self.directory} holds {kinds[bool(theirs.text_pair)]}, but dataset.text_pair="
                f"{dataset.text_pair!r} asks for {kinds[bool(dataset.text_pair)]}."
            )
        positive, choices = (
            getattr(dataset, name) or getattr(theirs, name) for name in ("positive_label", "choices")
        )
        agreed = dataclasses.replace(dataset, labels=theirs.labels, positive_label=positive, choices=choices)
        self._require_same_task(agreed)
        return agreed

    def _require_same_task(self, dataset):
        theirs = dataclasses.replace(self.dataset, positive_label=dataset.positive_label)
        if self._task_class.dataset_arguments(theirs) != self._task_class.dataset_arguments(dataset):
            columns = {
                name: [json.dumps(getattr(each, name)) for each in (theirs, dataset)]
                for name in ("choices", "negatives", "scores")
            }
            shown = [
                f"dataset.{name}={made}, but this run has {ours}"
                for name, (made, ours) in columns.items()
                if made != ours
            ]
            raise ValueError(
                f"{self.directory} was made with {', with '.join(shown)}; make the records again, or let the "
                "config say the same."
            )

    # `LabelledFile` (kbert/experiments/labelled_file.py) has the same methods.
    def count_labels(self) -> tuple[dict[str, int], int]:
        """(label -> how many examples have it, the number of examples), as counted when they were made.

        A text in several windows is one example, as in its file.

        Raises:
          ValueError: for records whose labels were not counted.
        """
        counts = self.manifest.statistics.get("labels")
        if counts is None:
            raise ValueError(
                f"{self.directory} does not say how often each label occurs; give train_file instead of "
                "train_dir, or the weights themselves as a table label -> weight."
            )
        return counts, self.num_examples

    def check_with(self, task, max_seq_length: int, owner, vocabulary: dict):
        """Raises ValueError for a task with prompts or of other labels than the records were checked for, and
        where the `vocabulary` of `owner` is another one.

        Examples and lengths were checked when the records were made.
        """
        del max_seq_length
        made_for = type(task).from_dataset(self.dataset, self._settings(type(task)))
        if task.label_range and task.label_range != made_for.label_range:
            raise ValueError(
                f"{self.directory} was made for any numbers as labels, but this model learns those from "
                f"{task.label_range[0]} to {task.label_range[1]}; make the records again with "
                'task_settings.loss="binary_cross_entropy", or give the labelled file.'
            )
        if prompt := next(filter(None, task.prompts), None):
            raise ValueError(
                f"{self.directory} holds texts without the prompt {prompt!r}, which the model has before "
                "them; give the labelled file that the records were made from."
            )
        self.require_vocabulary(owner, vocabulary)
