"""A trained run + GLUE's unlabelled texts -> a file that GLUE's server takes."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from kbert.experiments.glue.glue_tasks import GlueTask
from kbert.files.whole_file import write_text
from kbert.inference import loading
from kbert.input_pipelines.labelled_files import stream_records, text_cell

HEADER = "index\tprediction"
LOWEST, HIGHEST = 0.0, 5.0  # of STS-B's scores


def write_submission(task: GlueTask, run, source: Path, index: str | None, output_file):
    """Answers every row of a file and writes `index<TAB>prediction`, in its order.

    A label is written by its name; a number with three decimals, cut to the range from 0 to 5. The file is
    written aside and gets its name when it is whole.

    Args:
      task: the task of GLUE.
      run: the `RunDirectory` that answers.
      source: the file of texts, with a header line, in the columns that the run's config names.
      index: the column to give back, or None for the row's number.
      output_file: what is written.

    Raises:
      ValueError: before anything is answered, when the run has other labels than GLUE's, a row is cut short,
        or an index comes twice.
    """
    _require_labels(task, run)
    rows = list(_rows(source, index, run.config.dataset))
    _require_all_rows(source, [row for row, _ in rows])
    logging.info("%s: predicting the %d texts of %s with %s", task.name, len(rows), source, run.path)
    examples = [example for _, example in rows]
    predictions = [format_prediction(task, answer) for answer in loading.open_model(run).predict(examples)]
    lines = [f"{row}\t{prediction}" for (row, _), prediction in zip(rows, predictions, strict=True)]
    write_text("\n".join([HEADER, *lines]) + "\n", output_file)


def format_prediction(task: GlueTask, answer: dict) -> str:
    """What the second column says."""
    if task.labels:
        return answer["label"]
    return f"{min(max(answer['prediction'], LOWEST), HIGHEST):.3f}"


def _require_labels(task, run):
    labels = tuple(getattr(run.task(), "labels", ()))
    if sorted(labels) != sorted(task.labels):
        raise ValueError(
            f"{run.path} predicts {', '.join(labels) or 'numbers'}, but GLUE expects "
            f"{', '.join(task.labels) or 'numbers'} of {task.name}; let its config list these labels."
        )


def _rows(source, index, dataset) -> Iterator[tuple[str, dict]]:
    """(index, inputs) of each row. Test files have a header line, also where training files have none."""
    dataset = dataclasses.replace(dataset, column_names=(), file_format="tsv")
    columns = (dataset.text, dataset.text_pair, index)
    records = stream_records(source, dataset, columns, with_labels=False)
    for number, (where, record) in enumerate(records):
        example = {"text": text_cell(record, dataset.text, where)}
        if dataset.text_pair:
            example["text_pair"] = text_cell(record, dataset.text_pair, where)
        yield (record[index] if index else str(number)), example


def require_columns_of_texts(source, index, dataset):
    """Raises ValueError where a test file lacks a column: reads its header and its first row.

    Args:
      source, index: as for `write_submission`.
      dataset: the `DatasetConfig` of the task's config.
    """
    next(_rows(source, index, dataset))


def _require_all_rows(source, indices):
    """Compares with the file's lines, which are counted apart from the reader."""
    with open(source, "rb") as file:
        number = sum(1 for line in file if line.strip()) - 1
    if len(indices) != number or len(set(indices)) != number:
        raise ValueError(
            f"{source} has {number} rows below its header, but {len(indices)} were read, with "
            f"{len(set(indices))} different indices; a submission needs each row once. Fix the file."
        )
