"""The quickstart on a pretrained encoder: labelled texts -> fine-tuning -> evaluation -> SavedModel."""

import re
from collections import Counter
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.export_package import export_package
from kbert.input_pipelines.labelled_files import read_rows
from kbert.quickstart.command_sequence import CommandSequence, prepare_folder
from kbert.quickstart.commands import config_path, json_lines
from kbert.reports.quickstart import pretrained_table

# Minutes also on a file of thousands: a long file is read fewer times, but at least once.
_MOST_EXAMPLES_SEEN = 5_000
_MOST_EPOCHS = 5
_HELD_OUT = 0.2
_FEWEST_ROWS = 20


def quickstart_pretrained(directory: Path, init_checkpoint: Path, train_file: Path | None = None) -> dict:
    """Fine-tunes a pretrained encoder, evaluates it, exports it, and prints what it measured.

    Args:
      directory: a new or empty folder, or that of an earlier quickstart, which is removed.
      init_checkpoint: the encoder: a folder with a checkpoint that kbert reads.
      train_file: labelled texts, with columns `text` and `label`; a fifth is held out for the evaluation.
        None takes the labels of `make quickstart`, with its test passages.

    Returns:
      The figures, as `pretrained_table` shows them.

    Raises:
      ValueError: before anything is written for a checkpoint that does not exist and for a file without the
        columns, with fewer than 20 rows or with a single label; when a step fails; and as `prepare_folder`.
    """
    if not init_checkpoint.is_dir():
        raise ValueError(
            f"--init_checkpoint={init_checkpoint} is not a folder; expected an encoder such as the one that "
            "make quickstart-pretrained sets up."
        )
    num_rows = _checked_rows(train_file) if train_file else 0
    prepare_folder(directory)
    sequence = CommandSequence(directory)
    training, test = _own_file(train_file, num_rows) if train_file else _embedded_labels(sequence, directory)
    metrics = _train_and_evaluate(
        sequence, directory, [f"--init_checkpoint={init_checkpoint}", *training], test
    )
    served = _export(sequence, directory)
    figures = {
        "encoder": init_checkpoint,
        "licence": licence_of(init_checkpoint),
        "test": metrics,
        "examples": _shown(directory / "classifier", test),
        "errors": directory / "errors.html",
        "serve": f"kbert serve --model_base_path={served} --model_name={served.name}",
        "total_seconds": sequence.total_seconds,
    }
    print("\n" + pretrained_table(figures))
    return figures


def _train_and_evaluate(sequence, directory, training, test):
    """The metrics on texts that the classifier was not trained on."""
    run = directory / "classifier"
    sequence.step(
        "Fine-tuning of the pretrained encoder",
        "kbert.scripts.run_finetuning",
        f"--config={config_path('finetuning/quickstart_pretrained.toml')}",
        f"--run_dir={run}",
        *training,
    )
    output = sequence.step(
        "Evaluation on texts that it was not trained on; the page lists the errors",
        "kbert.scripts.run_evaluation",
        f"--run_dir={run}",
        f"--html_file={directory}/errors.html",
        "--json",
        *test,
    )
    return json_lines(output)[-1]


def _export(sequence, directory):
    """The folder of the SavedModel's versions."""
    served = directory / "serving" / "classifier"
    sequence.step(
        "Export: a SavedModel with tokenization in the graph",
        f"{export_package()}.export_savedmodel",
        f"--run_dir={directory}/classifier",
        f"--model_base_path={served}",
    )
    return served


def licence_of(checkpoint: Path) -> str:
    """The `license` in the head of a checkpoint's model card, its README.md; a sentence without one."""
    card = checkpoint / "README.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    found = re.search(r"\A---\n(?:.*\n)*?license: *(\S+)", text)
    return found[1] if found else f"not named in {checkpoint}; ask whoever made it"


def _checked_rows(train_file):
    """The number of rows of a user's file, read once before any step."""
    dataset = DatasetConfig(text="text", label="label")
    labels = Counter(row.label for row in read_rows(train_file, dataset))
    if sum(labels.values()) < _FEWEST_ROWS or len(labels) < 2:
        raise ValueError(
            f"--train_file={train_file} has {sum(labels.values())} rows and {len(labels)} different labels; "
            f"expected at least {_FEWEST_ROWS} rows and two labels, so that a fifth can be held out."
        )
    return sum(labels.values())


def _own_file(train_file, num_rows):
    """(flags of the fine-tuning, flags of the evaluation) for a user's file."""
    epochs = max(1, min(_MOST_EPOCHS, round(_MOST_EXAMPLES_SEEN / num_rows)))
    flags = [
        f"--train_file={train_file}",
        f"--override=dev_split={_HELD_OUT}",
        f"--override=num_train_epochs={epochs}",
    ]
    return flags, [f"--eval_file={train_file}", "--split=dev"]


def _embedded_labels(sequence, directory):
    """The same for the labels of `make quickstart`, which a first step writes."""
    sequence.step(
        "Text: passages of Python's own documentation, labelled by library area",
        "tfrecords_tools.write_embedded_text",
        f"--output_dir={directory}/text",
    )
    labelled = f"{directory}/text/labelled"
    flags = [
        f"--train_file={labelled}/train.tsv",
        f"--dev_file={labelled}/dev.tsv",
        "--override=dataset.text=sentence",
    ]
    return flags, [f"--eval_file={labelled}/test.tsv"]


def _shown(run_dir, test):
    """Four answers: two right, two wrong, each the first of its kind."""
    from kbert.experiments.evaluation import labelled_data
    from kbert.inference.text_classifier import TextClassifier
    from kbert.quickstart.shown_examples import shown_examples
    from kbert.runs.run_directory import RunDirectory

    run = RunDirectory(run_dir)
    data, _ = labelled_data(run, test[0].partition("=")[2], held_out="--split=dev" in test)
    return shown_examples(TextClassifier(run), data.examples, each=2)
