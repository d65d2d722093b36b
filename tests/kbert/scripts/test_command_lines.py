"""The scripts as commands: one sentence and exit code 1 for wrong input, and nothing left behind."""

import csv
import json
import shutil

import pytest

from tests import warm_processes
from tests.html_checks import read_page


def run_script(name, *arguments, stdin=""):
    return warm_processes.run_script(f"kbert.scripts.{name}", *arguments, stdin=stdin)


@pytest.mark.slow
def test_prediction_from_standard_input(pair_run):
    result = run_script("run_prediction", f"--run_dir={pair_run.path}", stdin="a\tthe\njump\tplay\n")
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(answer["text"], answer["text_pair"]) for answer in answers] == [("a", "the"), ("jump", "play")]


@pytest.mark.slow
def test_the_first_arguments_are_the_model_and_what_it_is_asked(finetuned_run, labelled_files):
    result = run_script("run_prediction", str(finetuned_run.path), "jump the a")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["text"] == "jump the a"
    result = run_script("run_evaluation", str(finetuned_run.path), str(labelled_files[1]), "--json")
    assert result.returncode == 0 and json.loads(result.stdout)["num_examples"] == 13


@pytest.mark.slow
def test_prediction_from_a_file_to_a_file(finetuned_run, tmp_path):
    texts, answered = tmp_path / "texts.csv", tmp_path / "answers.csv"
    texts.write_text('n,text,label\n1,"walk, the ""a""\nthe\ta",x\n2,jump,y\n', encoding="utf-8")
    arguments = [f"--run_dir={finetuned_run.path}", f"--input_file={texts}"]
    result = run_script("run_prediction", *arguments, f"--output_file={answered}")
    assert (result.returncode, result.stdout) == (0, "") and "2 texts in" in result.stderr
    with answered.open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    labels = finetuned_run.task().labels
    assert list(first) == ["n", "text", "label", "predicted_label", *(f"probability_{one}" for one in labels)]
    assert (first["n"], first["text"], first["label"]) == ("1", 'walk, the "a"\nthe\ta', "x")
    best = max(labels, key=lambda label: float(second[f"probability_{label}"]))
    assert (second["text"], second["predicted_label"]) == ("jump", best)
    for name, sentence in (
        ("answers.tsv", "error: row 1, column 'text'"),
        ("answers.csv", "with overwrite (--overwrite)"),
    ):
        result = run_script("run_prediction", *arguments, f"--output_file={tmp_path}/{name}")
        assert result.returncode == 1 and sentence in result.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"texts.csv", "answers.csv"}, "nothing is left half-written"


@pytest.mark.slow
def test_pairs_where_none_are_expected_are_refused_before_any_weight_is_read(finetuned_run, tmp_path):
    """The weights are damaged here, which would be the next thing missed."""
    run = shutil.copytree(finetuned_run.path, tmp_path / "run")
    for file in run.glob("checkpoints/*/model.safetensors"):
        file.write_bytes(b"")
    result = run_script("run_prediction", f"--run_dir={run}", "--text=a", "--text_pair=b")
    sentence = f"error: --text: {run} expects text; received text and text_pair.\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", sentence)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("run_pretraining", ["--config=none.json", "--input_dir={0}"], "{0} holds no manifest.json, so it"),
        ("run_finetuning", ["--config=none.json", "--train_file=a.tsv"], "config file none.json does not"),
        (
            "run_finetuning",
            ["--config=none.json", "--train_file=a.tsv", "--seeds=1,2", "--override=seed=5"],
            "--override='seed=5' would be lost: seeds gives seed for each run; leave one of them out.",
        ),
        (
            "run_finetuning",
            ["--config=none.json", "--train_file=a.tsv", "--tokenizer=b", "--init_checkpoint=c"],
            "--tokenizer and --init_checkpoint cannot be combined: a checkpoint has its own vocabulary",
        ),
        (
            "run_finetuning",
            ["--config=none.json", "--train_file=a.tsv", "--tokenizer={0}/none"],
            "tokenizer={0}/none",
        ),
        (
            "run_evaluation",
            [],
            "expected one of eval_file (labelled examples), input_dir (records); received none",
        ),
        (
            "run_prediction",
            ["and", "words"],
            "unexpected argument 'and'; write kbert predict RUN_DIR TEXT bef",
        ),
        ("draw_attention", ["--text=a", "--output_file={0}/a.png"], "must end in .html."),
        (
            "draw_attention",
            ["--text=a", "--layers=1,x", "--output_file={0}/a.html"],
            "error: --layers=1,x: expected numbers separated by commas, such as 1,2,-1",
        ),
        ("run_evaluation", ["--eval_file=b.tsv", "--html_file={0}/a.txt"], "a.txt must end in .html."),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--html_examples=3"],
            "are those of html_file, which is not",
        ),
        ("extract_features", ["--input_file=none.txt", "--output_file={0}/a.npz"], "none.txt does not exist"),
        ("extract_features", ["--input_file={0}/old.html", "--output_file={0}/old.html"], "is the input"),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--html_file={0}/old.html"],
            "old.html exists; choose another",
        ),
        (
            "run_evaluation",
            ["--eval_file={0}/old.html", "--html_file={0}/old.html", "--overwrite"],
            "is the input",
        ),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--run_dir={0}", "--output_file={0}/empty.txt", "--overwrite"],
            "is the input",
        ),
        (
            "run_evaluation",
            [
                *(f"--{name}=none.tsv" for name in ("corpus_file", "queries_file", "qrels_file")),
                "--retriever={0}",
                "--output_file={0}/empty.txt",
                "--overwrite",
            ],
            "is the input",
        ),
        (
            "run_prediction",
            ["--input_file={0}/empty.txt"],
            "empty.txt is empty; expected a text on each line",
        ),
        ("run_prediction", ["--text=a", "--output_file={0}/a.txt"], "a.txt: the ending says the format"),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--html_file={0}/a.html", "--output_file={0}/a.html"],
            "give each file a name",
        ),
    ],
)
def test_wrong_input_is_one_sentence_at_once(tmp_path, name, arguments, sentence):
    (tmp_path / "old.html").write_text("old")
    (tmp_path / "empty.txt").touch()
    typed = [argument.format(tmp_path) for argument in arguments]
    run_dir = [] if f"--run_dir={tmp_path}" in typed else ["--run_dir=none"]
    result = run_script(name, *run_dir, *typed)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("error: ") and sentence.format(tmp_path) in result.stderr
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {"empty.txt": "", "old.html": "old"}


@pytest.mark.slow
def test_a_page_of_an_evaluation_and_of_attention_from_the_command_line(
    finetuned_run, labelled_files, tmp_path
):
    page, kept = tmp_path / "new" / "dev.html", tmp_path / "new" / "dev.json"  # their folder is made
    arguments = [f"--eval_file={labelled_files[1]}", f"--html_file={page}", "--html_examples=2"]
    run_dir = f"--run_dir={finetuned_run.path}"
    result = run_script("run_evaluation", run_dir, f"--output_file={kept}", *arguments)
    assert result.returncode == 0, result.stderr
    accuracy = json.loads(kept.read_text())["accuracy"]
    rows = dict(line.split(maxsplit=1) for line in result.stdout.split("\n\n")[1].splitlines())
    assert rows["accuracy"] == f"{accuracy:.4f}" and rows["num_examples"] == "13"
    assert (rows["page"], rows["metrics"]) == (str(page), str(kept))
    html = read_page(page)
    assert f"<b>accuracy {accuracy:.4f}</b> on 13 examples" in html
    for title in ("Confusion", "Label by label", "Calibration", "By length", "Losses of the run"):
        assert f"<h2>{title}</h2>" in html
    assert html.count("<article") == min(2, round(13 * (1 - accuracy))), "wrong answers"

    drawn = tmp_path / "attention.html"
    arguments = ["--text=jump the a walk", "--heads=1,2", f"--output_file={drawn}"]
    result = run_script("draw_attention", run_dir, *arguments)
    assert (result.returncode, result.stdout) == (0, f"Attention of 6 tokens written to {drawn}.\n"), result
    assert read_page(drawn).count("<figcaption>") == 2  # one layer of two heads
