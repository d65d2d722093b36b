"""How the labelled files of a task are read: a part of tasks that are trained on them."""

import collections
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.json_values import shown
from kbert.input_pipelines import labelled_files
from kbert.input_pipelines.label_checks import (
    judge_classes,
    with_judged_label_sets,
    with_judged_labels,
    with_judged_numbers,
    without_marks,
)
from kbert.input_pipelines.label_lists import require_no_hot_pairs
from kbert.input_pipelines.label_names import sorted_labels
from kbert.input_pipelines.labels import class_label, label_set

# The fields of a `DatasetConfig` that every task reads which has its examples in rows of named columns.
ROW_SETTINGS = (
    *("text", "text_pair", "label", "file_format", "column_names", "delimiter", "encoding"),
    *("skip_short_rows", "skip_unlabelled", "skip_empty_rows"),
)


def warn_of_absent(path, classes: list[str]):
    """Warns of classes that the schema of a file names, and no row has."""
    if classes:
        warn_once(
            f"{path}: no row has the classes {shown(classes)}, which its schema names; the model has "
            "them too. For a model without them list the others in dataset.labels."
        )


class Files:
    """A kind of labelled files. It is asked before a task is made, because labels may come from a file.

    Examples are picklable tuples; their last field is the label.

    Attributes:
      settings: the fields of a `DatasetConfig` that are read; a training whose config sets another one is
        refused, see `require_read`. By default all, for a task that does not say.
    """

    settings: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(DatasetConfig))

    def read_examples(self, path, dataset: DatasetConfig, with_labels: bool = True) -> Iterator:
        """The examples of a file, one at a time.

        Raises:
          ValueError: when a line does not match `dataset`; the message names file and line.
        """
        raise NotImplementedError

    def needs_tensorflow(self, path, dataset: DatasetConfig) -> bool:
        """Whether a file can only be read with TensorFlow: then what is wrong in it is said later."""
        return False

    def dataset_of_texts(self, dataset: DatasetConfig) -> DatasetConfig:
        """How files without labels are read, by a model of such files. By default as those with labels."""
        return dataset

    def require_texts(self, path, dataset: DatasetConfig, texts: list[str]):
        """Raises ValueError where the first texts of a file without labels, which are to be answered, are
        parts of texts in labelled files. By default none are."""

    def needless_settings(self, path, dataset: DatasetConfig) -> dict[str, str]:
        """Which of the `settings` change nothing in how this file is read: name -> where they do."""
        return labelled_files.needless_settings(path, dataset)

    def complete_dataset(self, dataset: DatasetConfig, examples: Iterable, path=None) -> DatasetConfig:
        """The dataset; if it lists no labels, with those of the examples, or of the schema of their file. By
        default the dataset itself."""
        return dataset

    def labels(self, example) -> tuple[str, ...]:
        """The labels of an example, one for each time that it has them; none where a task has no labels."""
        return ()

    def strata(self, examples: list) -> list[str]:
        """For each example what a split spreads evenly, such as its label; "" where there is none."""
        return [""] * len(examples)

    def groups(self, examples: list) -> list[str]:
        """For each example a text; a split keeps examples of equal text together. By default all but the
        label."""
        return [repr(tuple(example)[:-1]) for example in examples]

    def drawn_by(self, examples: list) -> list[str]:
        """For each example a text by which `max_train_examples` draws it, each by itself. By default that of
        its group."""
        return self.groups(examples)

    def content(self, example) -> tuple:
        """The texts of an example, and its label at the end: all by which one repeats another. By default
        the example itself."""
        return example

    def texts(self, example) -> tuple[str, ...]:
        """The texts of an example, in order; see `Serving.row_texts`. By default its fields that are texts,
        but for the label."""
        return tuple(field for field in tuple(example)[:-1] if isinstance(field, str))

    def texts_apart(self, examples: list) -> list[tuple[str, ...]] | None:
        """For each training example a query, its positive and others, which are kept apart from those of its
        batch, see `DistinctBatches`; None where any may stand together."""
        return None


_with_judged_classes = functools.partial(with_judged_labels, judge=judge_classes)


class TextFiles(Files):
    """A text, or a pair of texts, and its label: `LabelledText`s of files of rows.

    Args:
      read_label: the function that reads a label, see kbert/input_pipelines/labels.py.
      label_names: function from what is read to the names of labels in it; None for numbers. By default an
        example has one label.
      with_judged: function from (examples, function that gives their labels, path) to the examples, whose
        labels are judged at the end, see kbert/input_pipelines/label_checks.py.
      settings: what is read beside `ROW_SETTINGS`.
    """

    def __init__(
        self,
        read_label: Callable = class_label,
        label_names: Callable | None = lambda label: (label,),
        with_judged: Callable = _with_judged_classes,
        settings: tuple[str, ...] = ("labels", "positive_label"),
    ):
        self._read_label, self._label_names, self._with_judged = read_label, label_names, with_judged
        self.settings = ROW_SETTINGS + settings

    def read_examples(self, path, dataset, with_labels=True):
        """The rows of a file; where the dataset lists no labels, those of the file are judged at its end, and
        so are numbers.

        Raises:
          ValueError: as `stream_rows`, `judge_classes`, `with_judged_numbers` and `without_marks` do.
        """
        read = functools.partial(labelled_files.stream_rows, path, dataset, with_labels, self._read_label)
        if with_labels and self._label_names is None:
            return with_judged_numbers(read, operator.attrgetter("label"), dataset.skip_unlabelled, path)
        if dataset.labels or not with_labels:
            return read()
        rows = without_marks(read, self.labels, path) if dataset.skip_unlabelled else read()
        return self._with_judged(rows, self.labels, path=path)

    def needless_settings(self, path, dataset):
        """Those of the format; and the positive label of more labels than two."""
        more = {"positive_label": "with two labels"} if len(dataset.labels) > 2 else {}
        return super().needless_settings(path, dataset) | more

    def complete_dataset(self, dataset, examples, path=None):
        """The dataset; if it lists no labels, with the sorted labels of the examples; or with all classes of
        the schema of their file, in its order, so that class 1 of two is the positive one as elsewhere.

        Raises:
          ValueError: where every example has the labels 0 and 1, see `require_no_hot_pairs`.
        """
        if dataset.labels or self._label_names is None:
            return dataset
        sets = set(map(self.labels, examples))
        require_no_hot_pairs(sets)
        labels = sorted_labels(itertools.chain(*sets))
        classes = labelled_files.schema_labels(path, dataset) if path and len(labels) > 1 else ()
        if {*labels} <= {*classes} and len({*filter(str.strip, classes)}) == len(classes):
            warn_of_absent(path, [name for name in classes if name not in labels])
            labels = classes
        return dataclasses.replace(dataset, labels=labels)

    def content(self, example):
        """The example; several labels are a set, whatever their order."""
        if self._label_names is not tuple:
            return example
        return example._replace(label=tuple(sorted(example.label)))

    def labels(self, example):
        return tuple(self._label_names(example.label)) if self._label_names else ()

    def strata(self, examples):
        """Its label, or its labels together. Labels that no other example has together would stay with the
        training: such an example is one of its rarest label."""
        if not self._label_names:
            return super().strata(examples)
        every = [sorted(self.labels(example)) for example in examples]
        sets = collections.Counter(map(tuple, every))
        counts = collections.Counter(label for labels in every for label in labels)
        return [
            repr(
                labels
                if sets[tuple(labels)] > 1
                else sorted(labels, key=lambda name: (counts[name], name))[:1]
            )
            for labels in every
        ]


ONE_LABEL_FILES = TextFiles()
SEVERAL_LABELS_FILES = TextFiles(label_set, tuple, with_judged_label_sets, ("labels", "label_separator"))
