"""The quickstart on a pretrained encoder: labelled texts -> fine-tuning -> evaluation -> SavedModel."""

import re
import shlex
import time
from collections import Counter
from pathlib import Path

import kbert
from kbert.checkpoints.formats import local_path
from kbert.config import DatasetConfig
from kbert.experiments.evaluation import labelled_data
from kbert.files.json_file import read_json
from kbert.input_pipelines.labelled_files import read_rows
from kbert.quickstart.answers import shown_examples
from kbert.quickstart.recipe import run_recipe, text_folder
from kbert.reports.page import render

# Minutes also on a file of thousands: a long file is read fewer times, but at least once.
_MOST_EXAMPLES_SEEN = 5_000
_MOST_EPOCHS = 5
_FEWEST_ROWS = 20


def quickstart_pretrained(
    output_dir: Path, init_checkpoint: Path | str, train_file: Path | None = None
) -> dict:
    """Fine-tunes a pretrained encoder, evaluates it, exports it, and prints what it measured.

    Args:
      output_dir: a new or empty folder, or that of an earlier quickstart, which is removed.
      init_checkpoint: the encoder: a folder with a checkpoint that kbert reads, or a name such as
        all-MiniLM-L6-v2.
      train_file: labelled texts, with columns `text` and `label`; a fifth is held out for the evaluation.
        None takes the labels of `make quickstart`, with its test passages.

    Returns:
      The figures that it prints, by the names of `quickstart_pretrained.txt`.

    Raises:
      ValueError: before anything is written for a checkpoint that does not exist and for a file without the
        columns, with fewer than 20 rows or with a single label; and as `run_recipe`.
    """
    init_checkpoint = local_path(init_checkpoint)
    if not init_checkpoint.is_dir():
        raise ValueError(
            f"--init_checkpoint={init_checkpoint} is no folder and no model's name; expected an encoder such "
            "as the one that make quickstart-pretrained sets up."
        )
    own = _data_flags(train_file) if train_file else {}
    began, served = time.monotonic(), output_dir / "serving" / "classifier"
    run_recipe("from_pretrained.sh", output_dir, encoder=shlex.quote(str(init_checkpoint)), **own)
    figures = {
        "encoder": init_checkpoint,
        "licence": read_licence(init_checkpoint),
        "test": read_json(output_dir / "test.json"),
        "examples": _shown(output_dir / "classifier", train_file),
        "errors": output_dir / "errors.html",
        "serve": f"kbert serve --model_base_path={shlex.quote(str(served))} --model_name={served.name}",
        "total_seconds": time.monotonic() - began,
    }
    print("\n" + render("quickstart_pretrained.txt", **figures))
    return figures


def read_licence(checkpoint: Path) -> str:
    """The `license` in the head of a checkpoint's model card, its README.md; a sentence without one."""
    card = checkpoint / "README.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    licence = re.search(r"\A---\n(?:.*\n)*?license: *(\S+)", text)
    return licence[1] if licence else f"not named in {checkpoint}; ask whoever made it"


def _data_flags(train_file):
    """What `$data` and `$test` of the recipe are for a user's file, which is read once before any step."""
    labels = Counter(row.label for row in read_rows(train_file, DatasetConfig(text="text", label="label")))
    if labels.total() < _FEWEST_ROWS or len(labels) < 2:
        raise ValueError(
            f"--train_file={train_file} has {labels.total()} rows and {len(labels)} different labels; "
            f"expected at least {_FEWEST_ROWS} rows and two labels, so that a fifth can be held out."
        )
    epochs = max(1, min(_MOST_EPOCHS, round(_MOST_EXAMPLES_SEEN / labels.total())))
    file = shlex.quote(str(train_file))
    return {
        "data": f"--train_file={file} --override=dev_split=0.2 --override=num_train_epochs={epochs}",
        "test": f"--eval_file={file} --split=dev",
    }


def _shown(run_dir, train_file):
    """Four answers: two right, two wrong, each the first of its kind."""
    run, file = kbert.load(run_dir), train_file or text_folder() / "test.tsv"
    data, _ = labelled_data(run, file, held_out=bool(train_file))
    return shown_examples(kbert.TextClassifier(run), data.examples, each=2)
