"""A wrong name of a column is one sentence that comes without TensorFlow."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kbert.experiments.glue import small_glue

REPOSITORY = Path(__file__).resolve().parents[3]
# With None in its place an import fails, so the sentence can only come if nothing asks for these.
PROGRAM = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = None
from kbert.commands import main
sys.exit(main(["kbert", *sys.argv[1:]]))
"""


def refused(*arguments):
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (1, ""), result.stderr
    return result.stderr


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("sentence,stars\nHot soup.,good\n")
    return path


@pytest.mark.parametrize(
    ("changes", "missing"),
    [(["dataset.text=sentnce"], "sentnce"), (["dataset.text=sentence"], "label")],
)
def test_fine_tuning_on_a_csv(reviews, tmp_path, changes, missing):
    said = refused(
        "finetune", "--config=configs/finetuning/small_data.toml", f"--train_file={reviews}",
        "--init_checkpoint=all-MiniLM-L6-v2", f"--run_dir={tmp_path}/run",
        *(f"--override={change}" for change in changes),
    )  # fmt: skip
    assert said.startswith(
        f"error: {reviews} has no column {missing!r}; its columns are ['sentence', 'stars']."
    )
    assert "--override=dataset.text=" in said and said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_development_file_is_looked_at_too(labelled_files, reviews, tmp_path):
    said = refused(
        "finetune", "--config=configs/finetuning/small_data.toml", f"--train_file={labelled_files[0]}",
        f"--dev_file={reviews}", "--override=dataset.text=sentence", f"--run_dir={tmp_path}/run",
    )  # fmt: skip
    assert said.startswith(f"error: {reviews} has no column 'label'")


@pytest.mark.parametrize(
    ("file", "column"),
    [("SST-2/dev.tsv", "label"), ("RTE/train.tsv", "sentence2"), ("RTE/test.tsv", "sentence1")],
)
def test_glue_looks_at_all_files_first(tmp_path, file, column):
    glue = small_glue.write_glue(tmp_path / "glue")
    lines = (glue / file).read_text().split("\n")
    (glue / file).write_text("\n".join([lines[0].replace(column, "other"), *lines[1:]]))
    said = refused(
        "glue", f"--glue_dir={glue}", "--tasks=sst2,rte", "--init_checkpoint=all-MiniLM-L6-v2",
        f"--run_dir={tmp_path}/run", f"--submission_dir={tmp_path}/submission",
    )  # fmt: skip
    assert said.startswith(f"error: {glue}/{file} has no column {column!r}")
