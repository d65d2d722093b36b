"""The steps from a teacher to the LiteRT files of its student; each step that is done is not done again."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

from absl import logging

from kbert.checkpoints.conversion.resizing import with_positions
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.experiments.finetuning import run_finetuning
from kbert.experiments.finished_run import asked_for, finished_metrics, write_result
from kbert.files.whole_file import write_json
from kbert.inference.loaded_model import load
from kbert.reports.page import write_page
from kbert.runs.run_directory import RunDirectory, holds_run
from tfrecords_tools.trim_vocabulary import trim_vocabulary

from ..export_tflite import export_tflite
from ..litert.litert_source import source_of
from ..litert.measured_model import measured_model
from .recipe import Recipe
from .report import student_report

REPORT_FILE, PAGE_FILE = "student.json", "report.html"


def make_student(recipe: Recipe, strategy: str = "auto", num_devices: int | None = None) -> dict:
    """Makes, measures and exports the student of a recipe.

    Args:
      recipe: what to make; see `Recipe.check`, which this expects to have passed.
      strategy, num_devices: as for `run_finetuning`.

    Returns:
      The report, see `student_report`, which also is written to the recipe's folder.

    Raises:
      ValueError: when files, teacher and recipe do not match, before anything is written; and as
        `trim_vocabulary`, `run_finetuning` and `export_tflite` do.
    """
    recipe.check_content()
    source = recipe.distillation.teacher
    logging.info("1 of 4: the teacher, cut to the texts, in %s", recipe.teacher)
    if not holds_run(recipe.teacher):
        cut_teacher(recipe)
    logging.info("2 of 4: the student, in %s", recipe.student)
    train_student(recipe, strategy, num_devices)
    logging.info("3 of 4: its files, in %s", recipe.litert)
    files = export_tflite(
        RunDirectory(recipe.student),
        recipe.litert,
        recipe.quantizations,
        recipe.lengths,
        overwrite=True,
        eval_file=recipe.dev_file,
        min_agreement=recipe.min_agreement,
    )
    logging.info("4 of 4: the teacher beside it")
    models = {
        "teacher": _measured(recipe, load(source)),
        "cut teacher": _measured(recipe, load(recipe.teacher)),
        "student": measured_model(source_of(RunDirectory(recipe.student)), recipe.dev_file),
    }
    report = student_report(models, files)
    write_json(report, recipe.folder / REPORT_FILE)
    title = f"A student for phones: {recipe.folder.resolve().name}"
    write_page(recipe.folder / PAGE_FILE, "student.html", title=title, report=report)
    return report


def cut_teacher(recipe: Recipe):
    """Writes the teacher with the pieces of the training texts alone, and as many positions as are used."""
    config, source = recipe.config, recipe.distillation.teacher
    with tempfile.TemporaryDirectory(prefix="export_student_") as folder:
        trimmed = Path(folder) / "trimmed"
        found = trim_vocabulary(
            source,
            trimmed,
            [Path(recipe.train_file)],
            [Path(recipe.dev_file)],
            config.dataset,
            vocab_size=recipe.vocab_size,
        )
        logging.info("%s", found)
        cut = with_positions(read_checkpoint(trimmed), config.max_seq_length)
        write_checkpoint(cut, recipe.teacher, "kbert")


def train_student(recipe: Recipe, strategy, num_devices):
    """Trains the student, goes on with its training, or finds it finished."""
    distillation = dataclasses.replace(recipe.distillation, teacher=str(recipe.teacher))
    config = dataclasses.replace(recipe.config, distillation=distillation)
    arguments: dict[str, Any] = {"train_file": recipe.train_file, "dev_file": recipe.dev_file}
    asked = asked_for(config, arguments)
    if finished_metrics(recipe.student, asked) is not None:
        logging.info("%s is finished.", recipe.student)
        return
    _, metrics = run_finetuning(
        config, recipe.student, **arguments, strategy=strategy, num_devices=num_devices
    )
    write_result(recipe.student, asked, metrics)


def _measured(recipe, loaded) -> dict:
    """A teacher on the development file, read as the student reads it."""
    return measured_model(
        source_of(loaded, recipe.config)._replace(max_seq_length=recipe.config.max_seq_length),
        recipe.dev_file,
    )
