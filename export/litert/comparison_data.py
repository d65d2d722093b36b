"""The rows on which LiteRT files are compared with Keras: of a file, or of a few fixed texts."""

from typing import NamedTuple

import numpy as np

from kbert.features import ENCODER_INPUTS, EXAMPLE_WEIGHTS

_ROWS = 32  # in a batch
FIXED_TEXTS = (
    "a short text",
    "Another text, somewhat longer than the first one.",
    "x",
    "The film begins slowly, and then nothing happens either.",
    "Who wrote it?",
    "It was written by Ada Lovelace in London, between 1842 and 1843.",
    "I would not buy it again.",
    "Call 0800 123 456 now to claim your prize!!!",
    "She opened the door, and the cat walked in as if the house were its own.",
    "Yes.",
    "A wonderful, warm and funny story that stays with you for days.",
    "The price rose by 3.5 % in the second quarter, to $12.40 a share.",
)


class ComparisonData(NamedTuple):
    """Rows, ready for both models.

    Args:
      name: what they are, for the report.
      batches: dicts of arrays: the features of rows, labels among them where there are any.
      examples, owners: as for `Task.score`; both None without labels.
      texts: without labels the texts of each row, as many as `Task.row_texts` says; None with them.
    """

    name: str
    batches: list[dict]
    examples: list | None
    owners: np.ndarray | None
    texts: list[tuple[str, ...]] | None = None

    @property
    def labelled(self) -> bool:
        return self.examples is not None


def comparison_data(source, eval_file, max_seq_length: int, held_out: bool = False) -> ComparisonData:
    """The rows of a file; without one (None), those of FIXED_TEXTS. These have no labels.

    Args:
      source: the `LiteRTSource`; the columns are those of its dataset.
      eval_file: as for `run_evaluation`. Of a model that is not trained on labelled files, an encoder that
        makes vectors of texts, a file with a text in each line, or with a column `text`.
      max_seq_length: of the longest signature; longer texts are cut, or windowed, as the task does.
      held_out: take only the part of `eval_file`, the run's training file, that `dev_split` held out.

    Raises:
      ValueError: when the file does not match the model or has no example.
    """
    from kbert.experiments.evaluation import not_held_out
    from kbert.tasks.task import reads_files

    if held_out and (eval_file is None or source.held_out is None):
        raise ValueError(not_held_out(source))
    if eval_file is None:
        return _fixed_rows(source, max_seq_length)
    if not reads_files(type(source.task)):
        return _rows_of_texts(source, eval_file, max_seq_length)
    return _labelled_rows(source, eval_file, max_seq_length, source.held_out if held_out else None)


def _labelled_rows(source, eval_file, length, part_of):
    from kbert.experiments.labelled_file import LabelledFile
    from kbert.tokenization.text_inputs import TextInputs

    data = LabelledFile(eval_file, type(source.task), source.dataset)
    if part_of:
        data = part_of(data)
    data.check_with(source.task, length)
    data.tokenize_with(source.task, TextInputs(source.vocabulary, length))
    if not data.num_examples:
        raise ValueError(f"--eval_file={eval_file} has no example; give a file of labelled examples.")
    examples, owners = data.evaluated_examples()
    # All of one length, whatever the run does: what a file says of every token is as long as its longest row.
    whole = data.evaluation_batches(_ROWS, pad_to_longest=False)
    batches = [_real_rows(batch) for batch in whole.as_numpy_iterator()]
    return ComparisonData(str(eval_file), batches, examples, owners)


def _texts_of(eval_file) -> list[str]:
    """As `extract_features` reads texts: the column `text`, or each line, an empty line too."""
    from kbert.files.text_file import read_lines
    from kbert.input_pipelines.unlabelled_columns import has_columns, texts_and_pairs

    if has_columns(eval_file):
        return [text for text, _ in texts_and_pairs(eval_file)]
    return [line.strip() for line in read_lines(eval_file)]


def _rows_of_texts(source, eval_file, length):
    import tensorflow as tf

    from kbert.tokenization.text_inputs import TextInputs

    texts = _texts_of(eval_file)
    if not texts:
        raise ValueError(
            f"--eval_file={eval_file} is empty; give a file with a text in each line, or with a column "
            "`text`."
        )
    text_inputs = TextInputs(source.vocabulary, length)
    parts = [texts[start : start + _ROWS] for start in range(0, len(texts), _ROWS)]
    rows = (text_inputs(tf.constant(part)) for part in parts)
    batches = [{name: one[name].numpy() for name in ENCODER_INPUTS} for one in rows]
    return ComparisonData(f"{len(texts)} texts of {eval_file}", batches, None, None, [(t,) for t in texts])


def _real_rows(batch):
    """The batch without rows that only fill it up."""
    real = batch[EXAMPLE_WEIGHTS] > 0
    return {name: value[real] for name, value in batch.items()}


def _fixed_rows(source, length):
    import tensorflow as tf

    from kbert.tokenization.text_inputs import TextInputs

    task = source.task
    in_pairs = len(task.inputs) == 2 and task.texts_per_example == 1
    pairs = tf.constant(FIXED_TEXTS[::-1]) if in_pairs else None
    rows = TextInputs(source.vocabulary, length)(tf.constant(FIXED_TEXTS), pairs)
    # An example of several texts takes them in turn, as many examples as there are whole ones.
    shape = task.features(length)["input_ids"].shape
    count = len(FIXED_TEXTS) // task.texts_per_example
    batch = {
        name: rows[name].numpy()[: count * task.texts_per_example].reshape(count, *shape)
        for name in ENCODER_INPUTS
    }
    given = list(zip(FIXED_TEXTS, FIXED_TEXTS[::-1], strict=True))[: count * task.texts_per_example]
    texts = [pair[: max(1, len(task.row_texts))] for pair in given]
    name = f"{len(FIXED_TEXTS)} fixed texts (no --eval_file was given)"
    return ComparisonData(name, [batch], None, None, texts)
