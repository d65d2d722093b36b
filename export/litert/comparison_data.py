"""The rows on which LiteRT files are compared with Keras: of a file, or of a few fixed texts."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.experiments.evaluation_data import labelled_examples, not_held_out
from kbert.features import ENCODER_INPUTS
from kbert.inference.texts import TEXTS_AT_ONCE, require_single_texts
from kbert.input_pipelines.unlabelled_files import texts_and_pairs
from kbert.tokenization.text_inputs import TextInputs

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
      rows: the features of all rows, arrays; labels among them where there are any.
      examples, owners: as for `Task.score`; both None without labels.
      texts: without labels the texts of each row, as many as `Serving.row_texts` says; None with them.
      batch_size: of the metrics, that of an evaluation.
    """

    name: str
    rows: dict[str, np.ndarray]
    examples: list | None = None
    owners: np.ndarray | None = None
    texts: list[tuple[str, ...]] | None = None
    batch_size: int = TEXTS_AT_ONCE


def comparison_data(source, eval_file, max_seq_length: int, held_out: bool = False) -> ComparisonData:
    """The rows of a file; without one (None), those of FIXED_TEXTS. These have no labels.

    Args:
      source: the `LiteRTSource`; the columns are those of its model's config.
      eval_file: as for `run_evaluation`. Of a model that is not trained on labelled files, an encoder that
        makes vectors of texts, a file with a text in each line, or with a column `text`.
      max_seq_length: of the longest signature; longer texts are cut, or windowed, as the task does.
      held_out: take only the part of `eval_file`, the run's training file, that `dev_split` held out.

    Raises:
      ValueError: when the file does not match the model or has no example.
    """
    run = source.loaded.run
    if held_out and (eval_file is None or not run or "held_out" not in run.details):
        raise ValueError(not_held_out(source.path))
    text_inputs = TextInputs(source.loaded.vocabulary, max_seq_length)
    if eval_file is None:
        return _fixed_rows(source.task, text_inputs)
    if source.task.files is None:
        return _text_rows(source, eval_file, text_inputs)
    data = labelled_examples(source.loaded, source.task, eval_file, max_seq_length, held_out)
    if not data.num_examples:
        raise ValueError(f"--eval_file={eval_file} has no example; give a file of labelled examples.")
    features, owners = source.task.examples_to_features(data.examples, text_inputs)
    features = _without_missing_texts(source.task, features, data.examples)
    batch_size = source.loaded.evaluation_batch_size
    return ComparisonData(str(eval_file), features, data.examples, owners, batch_size=batch_size)


def _without_missing_texts(task, features, examples):
    """The features of the texts that a file has; the others, negatives of pairs with scores, are empty."""
    if task.texts_per_example == 1 or not task.serving.row_texts:
        return features
    number = max(len(task.files.texts(example)) for example in examples)
    missing = task.texts_per_example - number
    return {
        name: values[:, : values.shape[1] - missing] if values.ndim > 1 else values
        for name, values in features.items()
    }


def _text_rows(source, eval_file, text_inputs):
    """The texts of `texts_and_pairs`."""
    rows = list(texts_and_pairs(eval_file))
    way = f"give the texts alone in --eval_file={eval_file}"
    require_single_texts((pair for _, pair in rows), source.path, way)
    texts = [source.task.default_prompt + text for text, _ in rows]
    if not texts:
        raise ValueError(
            f"--eval_file={eval_file} is empty; give a file with a text in each line, or with a column "
            "`text`."
        )
    rows = _as_arrays(text_inputs(tf.constant(texts)))
    return ComparisonData(f"{len(texts)} texts of {eval_file}", rows, texts=[(text,) for text in texts])


def full_rows(task, text_inputs) -> ComparisonData:
    """Rows of FIXED_TEXTS, each repeated until no padding is left."""
    length = text_inputs.max_seq_length
    data = _fixed_rows(task, text_inputs, least_words=length)  # a word has a token or more
    return data._replace(name=f"{len(FIXED_TEXTS)} fixed texts, repeated to {length} tokens")


def _fixed_rows(task, text_inputs, least_words=1):
    in_pairs = len(task.serving.inputs) == 2 and task.texts_per_example == 1
    repeats = -(-task.texts_per_example // len(FIXED_TEXTS))
    long = [" ".join([text] * -(-least_words // len(text.split()))) for text in FIXED_TEXTS]
    texts = [task.default_prompt + text for text in long * repeats]
    texts_by_input = [texts, texts[::-1]]
    rows = _as_arrays(text_inputs(*map(tf.constant, texts_by_input if in_pairs else texts_by_input[:1])))
    # An example of several texts takes them in turn, as many examples as there are whole ones.
    count = len(texts) // task.texts_per_example
    used, shape = count * task.texts_per_example, task.features(text_inputs.max_seq_length)["input_ids"].shape
    rows = {name: values[:used].reshape(count, *shape) for name, values in rows.items()}
    texts = list(zip(*texts_by_input[: max(1, len(task.serving.row_texts))], strict=True))[:used]
    name = f"{len(FIXED_TEXTS)} fixed texts (no --eval_file was given)"
    return ComparisonData(name, rows, texts=texts)


def _as_arrays(rows):
    return {name: rows[name].numpy() for name in ENCODER_INPUTS}
