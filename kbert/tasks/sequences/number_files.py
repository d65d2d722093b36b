"""Files of a text or a pair and its number; or of queries with right and wrong texts, a pair for each."""

from kbert.input_pipelines.labelled_files import LabelledText
from kbert.input_pipelines.labels import number_label
from kbert.input_pipelines.repeated_rows import hashes_as_read
from kbert.tasks.files import TextFiles
from kbert.tasks.similarity.text_groups import PositiveFiles, warn_of_right_and_wrong

RIGHT, WRONG = 1.0, 0.0  # the number of a query with its positive, and with a negative


class NumberFiles(TextFiles):
    """Files with a number in each row, or with the columns of negatives."""

    def __init__(self):
        super().__init__(number_label, None, settings=("negatives",))

    def read_examples(self, path, dataset, with_labels=True):
        """`LabelledText`s. A row with negatives gives a pair for its positive and for each text of these.

        Raises:
          ValueError: as `PositiveFiles.read_examples` does where the dataset names negatives.
        """
        if not dataset.negatives:
            return super().read_examples(path, dataset, with_labels)
        rows = _QueryFiles().read_examples(path, dataset, with_labels)
        return (pair for row in rows for pair in _pairs(row))

    def groups(self, examples):
        """As for all rows of texts; pairs of the same query stay together where queries are ranked."""
        return [example.text for example in examples] if are_ranked(examples) else super().groups(examples)

    def warn_of_contradictions(self, examples):
        """As of `PositiveFiles`, for the pairs that are made of its rows."""
        read = hashes_as_read()
        right = {read((example.text, example.text_pair)) for example in examples if example.label == RIGHT}
        wrong = [(example.text, example.text_pair) for example in examples if example.label == WRONG]
        warn_of_right_and_wrong([pair for pair in wrong if read(pair) in right])


class _QueryFiles(PositiveFiles):
    takes_fewer_negatives = True


def _pairs(row):
    query, positive, *negatives = row.texts
    yield LabelledText(query, positive, RIGHT if row.score is None else row.score)
    for negative in negatives:
        yield LabelledText(query, negative, WRONG)


def are_ranked(examples: list[LabelledText]) -> bool:
    """Whether most examples share their first text with others: queries, with texts that fit or do not."""
    texts: dict[str, set[str | None]] = {}
    for example in examples:
        texts.setdefault(example.text, set()).add(example.text_pair)
    return 2 * sum(len(texts[example.text]) > 1 for example in examples) > len(examples)
