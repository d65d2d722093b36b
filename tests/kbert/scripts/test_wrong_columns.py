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
from kbert.cli.commands import main
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


def test_evaluation_names_the_columns_of_the_run(pair_run, reviews):
    said = refused("evaluate", f"--run_dir={pair_run.path}", f"--eval_file={reviews}")
    assert said == (
        f"error: {reviews} has no column 'other'; its columns are ['sentence', 'stars']. The run "
        f"{pair_run.path} was trained on the columns 'sentence', 'other', 'label'; name the file's so.\n"
    )


def test_evaluation_of_a_checkpoint_of_others_by_a_config(reviews):
    said = refused(
        "evaluate", "--run_dir=all-MiniLM-L6-v2", "--config=configs/finetuning/sst2.toml",
        f"--eval_file={reviews}",
    )  # fmt: skip
    assert "has no column 'label'" in said and "Name the columns in the config" in said


def test_evaluation_on_a_file_that_is_not_there(finetuned_run):
    said = refused("evaluate", f"--run_dir={finetuned_run.path}", "--eval_file=none.tsv")
    assert said == "error: labelled file none.tsv does not exist.\n"


def test_prediction_for_a_run(finetuned_run, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("review,stars\nHot soup.,good\n")
    said = refused("predict", f"--run_dir={finetuned_run.path}", f"--input_file={path}")
    assert said.startswith(f"error: {path} has the columns review, stars; expected sentence.")


def test_prediction_for_a_checkpoint_of_others(reviews, tmp_path):
    said = refused("predict", f"--run_dir={tmp_path}", f"--input_file={reviews}")
    assert "has the columns sentence, stars; expected text, or question and context." in said


def test_features(finetuned_run, reviews, tmp_path):
    said = refused(
        "features", f"--run_dir={finetuned_run.path}", f"--input_file={reviews}",
        f"--output_file={tmp_path}/features.jsonl",
    )  # fmt: skip
    assert "has the columns sentence, stars; expected text, or text and text_pair." in said


def test_export_for_phones(finetuned_run, reviews, tmp_path):
    out = f"--output_dir={tmp_path}/out"
    said = refused("export-litert", f"--run_dir={finetuned_run.path}", out, f"--eval_file={reviews}")
    assert "has no column 'label'" in said and f"The run {finetuned_run.path} was trained on" in said
    said = refused(
        "export-litert", "--init_checkpoint=all-MiniLM-L6-v2", "--config=configs/finetuning/sst2.toml", out,
        f"--eval_file={reviews}",
    )  # fmt: skip
    assert "has no column 'label'" in said and "Name the columns in the config" in said


@pytest.mark.parametrize(
    ("command", "config", "sentence"),
    [
        ("finetuning-data --init_checkpoint=x --input_file={file} --output_dir={made}",
         "sst2", " has no column 'label'"),
        ("trim --from=x --to={made} --labelled_files={file}", "mrpc", " has no column '#1 String'"),
        ("trim --from=x --to={made} --labelled_files={good} --heldout_files={file}",
         "mrpc", " has no column '#1 String'"),
    ],
)  # fmt: skip
def test_commands_that_go_by_a_config(reviews, tmp_path, command, config, sentence):
    good, made = tmp_path / "good.tsv", tmp_path / "made"
    good.write_text("#1 String\t#2 String\nHot soup.\tCold soup.\n")
    arguments = command.format(file=reviews, good=good, made=made).split()
    said = refused(*arguments, f"--config=configs/finetuning/{config}.toml")
    assert said.startswith(f"error: {reviews}{sentence}")
    assert not made.exists()
