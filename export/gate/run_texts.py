"""Texts to compare an export with the Keras model on: real ones, of the run's own training data."""

import itertools
from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.features import ENCODER_INPUTS
from kbert.input_pipelines.batches import first_rows
from kbert.input_pipelines.records.record_folders import LabelledRecords
from kbert.input_pipelines.source_rows import make_rows
from kbert.input_pipelines.tables.table_paths import names_table
from kbert.runs.run_directory import RunDirectory

MOST_TEXTS = 64
_MOST_READ = 2048  # examples at the head of the file, of which MOST_TEXTS are taken


def read_run_texts(run: RunDirectory | None, task) -> tuple[list[dict], str]:
    """Up to MOST_TEXTS examples of a run's training data, spread over their first 2,048.

    Args:
      run: None for a checkpoint of others, which has no data.
      task: its `Task`.

    Returns:
      The inputs of "serving_default" that each example has, none where the run's data are not at hand; and
      where they come from, or why there are none, as a sentence for people.
    """
    if run is None:
        return [], "fixed texts alone: a checkpoint records no training data"
    recorded = run.details.get("train_file")
    if not recorded:
        return [], "fixed texts alone: the run does not record where its training data are"
    is_table = names_table(recorded)
    if not is_table and not Path(recorded).exists():
        return [], f"fixed texts alone: the run's training data, {recorded}, are no longer there"
    has_records = Path(recorded).is_dir() and not is_table
    try:
        examples = (_read_records if has_records else _read_file)(run, task, recorded)
    # The data are not what they were: the export does not need them. Damaged records are TensorFlow's error.
    except (ValueError, OSError, tf.errors.OpError) as error:
        return [], f"fixed texts alone: the run's training data cannot be read ({error})"
    if not examples:
        return [], f"fixed texts alone: {recorded} holds no inputs of this task"
    origin = (
        "texts put together from the run's training records"
        if has_records
        else ("examples of the run's training data")
    )
    return examples, f"{len(examples)} {origin}, and fixed texts"


def _read_file(run, task, path) -> list[dict]:
    examples = task.files.read_examples(path, run.config.dataset, with_labels=False)
    read = list(itertools.islice(examples, _MOST_READ))
    step = max(1, -(-len(read) // MOST_TEXTS))
    return [inputs for example in read[::step] if (inputs := example_inputs(example, task.serving.inputs))]


def _read_records(run, task, directory) -> list[dict]:
    """The texts of the first records, from their pieces; none of records with several sequences a row."""
    records = LabelledRecords(directory, type(task), run.config.max_seq_length, settings=task.settings)
    rows = first_rows(make_rows(records), MOST_TEXTS)
    if rows["input_ids"].ndim != 2 or len(task.serving.inputs) > 2:
        return []
    tokens = np.array(run.vocabulary().tokens, object)
    return [
        {
            name: _words(tokens[ids[(mask > 0) & (segments == segment)]])
            for segment, name in enumerate(task.serving.inputs)
        }
        for ids, mask, segments in zip(*(rows[name] for name in ENCODER_INPUTS), strict=True)
    ]


def _words(pieces) -> str:
    """With spaces between, without [CLS] and [SEP]."""
    return " ".join(piece for piece in pieces if piece not in ("[CLS]", "[SEP]")).replace(" ##", "")


def example_inputs(example, names) -> dict | None:
    """The inputs that an example gives by its fields' names; a text that it lacks is made of its `words`, and
    of a group of texts the first two are.

    Returns:
      name -> text, or list of texts; None where the example does not have them all.
    """
    texts = dict(zip(("text", "text_pair"), getattr(example, "texts", ()), strict=False))  # of a TextGroup
    inputs = {name: value for name in names if (value := getattr(example, name, texts.get(name))) is not None}
    words = getattr(example, "words", None)
    if "text" not in inputs and words:
        inputs["text"] = " ".join(words)
    return inputs if set(inputs) == set(names) else None
