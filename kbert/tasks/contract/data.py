"""What a task says of its data: files to examples, examples to rows of features."""

from collections.abc import Iterable, Iterator

from kbert.config import DatasetConfig, FinetuningConfig
from kbert.features import Feature
from kbert.tasks.contract.rows import ExampleFeatures


class DataOfTask:
    """The methods of a `Task` about examples and their features."""

    @classmethod
    def labels_of(cls, example) -> tuple[str, ...]:
        """The labels of an example, one for each time that it has them; none where a task has no labels."""
        return ()

    @classmethod
    def stratum_of(cls, example) -> str:
        """What a split spreads evenly, such as the label; "" where a task has nothing of that kind."""
        return ""

    @classmethod
    def groups_of(cls, examples: list) -> list[str]:
        """For each example a text; a split keeps examples of equal text together. By default all but the
        label."""
        return [repr(tuple(example)[:-1]) for example in examples]

    @classmethod
    def read_examples(cls, path, dataset: DatasetConfig, with_labels: bool = True) -> Iterator:
        """The examples of a file as picklable tuples, one at a time; their last field is the label.

        Raises:
          ValueError: when a line does not match `dataset`; the message names file and line.
        """
        raise NotImplementedError

    @classmethod
    def complete_dataset(cls, dataset: DatasetConfig, examples: Iterable) -> DatasetConfig:
        """The dataset; if it lists no labels, with the labels found in the examples."""
        return dataset

    def texts_of(self, example) -> tuple[str, ...]:
        """The texts of an example, in order. `row_texts` says how many of them make a row."""
        raise NotImplementedError

    def check_examples(self, examples: list, max_seq_length: int):
        """Raises ValueError for examples or a length that do not fit the task's settings.

        Called before a run is made, so that nothing is left behind; and where records are made, with a part
        of the examples at a time.
        """

    def check_training(self, config: FinetuningConfig, examples: list | None):
        """Raises ValueError for a training that the task cannot do, before a run is made.

        Args:
          config: the config.
          examples: the training examples; None when they come from records, which hold only features.
        """

    def texts_apart(self, examples: list) -> list[tuple[str, ...]] | None:
        """For each training example the texts that no other example of its batch may have; None for any."""
        return None

    def features(self, max_seq_length: int) -> dict[str, Feature]:
        """The features of a row, including labels: name -> `Feature`."""
        raise NotImplementedError

    def examples_to_features(self, examples: list, text_inputs) -> ExampleFeatures:
        """Examples -> rows of features; `text_inputs` tokenizes texts and cuts them to `max_seq_length`."""
        raise NotImplementedError

    def describe(self, row: dict, vocabulary) -> list[str]:
        """A row of features as readable lines: the tokens and the right answer."""
        tokens = (vocabulary.tokens[i] for i in row["input_ids"][row["input_mask"] > 0])
        return [f"example: {' '.join(tokens)}"]
