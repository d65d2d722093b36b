"""The scripts as commands: one sentence and exit code 1 for wrong input, and nothing left behind."""

import csv
import json

import pytest

from kbert.config import to_dict
from tests import warm_processes
from tests.conftest import tiny_pretraining_config
from tests.html_checks import read_page


def run_script(name, *arguments, stdin=""):
    return warm_processes.run_script(f"kbert.scripts.{name}", *arguments, stdin=stdin)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        (
            "run_pretraining",
            ["--config=none.json", "--input_dir={}"],
            "error: {} holds no manifest.json, so it is no",
        ),
        (
            "run_finetuning",
            ["--config=none.json", "--train_file=a.tsv"],
            "error: config file none.json does not",
        ),
        (
            "run_finetuning",
            ["--config=none.json", "--train_file=a.tsv", "--vocab_file=v", "--init_checkpoint=c"],
            "error: --vocab_file and --init_checkpoint cannot be combined: a checkpoint has its own "
            "vocabulary; leave one of them out.",
        ),
        ("run_evaluation", [], "error: give either --eval_file (labelled examples) or --input_dir"),
        (
            "run_prediction",
            ["and", "words"],
            "error: unexpected argument 'and'; flags are written --name=value",
        ),
    ],
)
def test_wrong_input_is_one_sentence_at_once(tmp_path, name, arguments, sentence):
    arguments = [argument.format(tmp_path) for argument in arguments]
    result = run_script(name, f"--run_dir={tmp_path}/run", *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith(sentence.format(tmp_path)) and result.stderr.count("\n") == 1
    assert result.stdout == "" and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_pretraining_from_the_command_line(records_dir, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(tiny_pretraining_config())))
    arguments = [
        f"--config={config}",
        f"--input_dir={records_dir}/train",
        f"--run_dir={tmp_path}/run",
        "--override=num_train_steps=4",
        "--override=save_checkpoints_steps=4",
    ]
    result = run_script("run_pretraining", *arguments)
    assert result.returncode == 0, result.stderr
    places = {"run": "", "metrics": "/metrics.jsonl", "page": "/curves.html"}  # no evaluation, no scores
    assert result.stdout.splitlines() == [f"{name:<9}{tmp_path}/run{end}" for name, end in places.items()]
    assert "example: [CLS] " in result.stderr and "step 4/4" in result.stderr
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-00000004"]


@pytest.mark.slow
def test_prediction_from_standard_input(pair_run):
    result = run_script("run_prediction", f"--run_dir={pair_run.path}", stdin="a\tthe\njump\tplay\n")
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(answer["text"], answer["text_pair"]) for answer in answers] == [("a", "the"), ("jump", "play")]


@pytest.mark.slow
def test_prediction_from_a_file_to_a_file(finetuned_run, tmp_path):
    texts, answered = tmp_path / "texts.jsonl", tmp_path / "answers.jsonl"
    arguments = [f"--run_dir={finetuned_run.path}", f"--input_file={texts}", f"--output_file={answered}"]
    texts.write_text('{"text": "walk", "id": 3}\n["walk"]\n', encoding="utf-8")
    result = run_script("run_prediction", *arguments)
    assert result.returncode == 1 and f"error: {texts} line 2: expected an object with text" in result.stderr
    assert list(tmp_path.iterdir()) == [texts], "nothing is left half-written"

    texts.write_text('{"text": "walk the a", "id": 3}\n{"text": "jump"}\n', encoding="utf-8")
    result = run_script("run_prediction", *arguments)
    assert (result.returncode, result.stdout) == (0, "") and "2 texts in" in result.stderr
    answers = [json.loads(line) for line in answered.read_text(encoding="utf-8").splitlines()]
    assert [answer["text"] for answer in answers] == ["walk the a", "jump"]
    assert answers[0]["id"] == 3 and set(answers[1]) == {"text", "label", "probabilities"}
    result = run_script("run_prediction", *arguments)
    assert result.returncode == 1 and "exists; pass --overwrite" in result.stderr


@pytest.mark.slow
def test_a_table_of_answers_has_the_columns_of_its_texts(finetuned_run, tmp_path):
    texts, answered = tmp_path / "texts.csv", tmp_path / "answers.csv"
    texts.write_text('n,text,label\n1,"walk, the ""a""\nthe\ta",x\n2,jump,y\n', encoding="utf-8")
    arguments = [f"--run_dir={finetuned_run.path}", f"--input_file={texts}"]
    result = run_script("run_prediction", *arguments, f"--output_file={answered}")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    with answered.open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    labels = finetuned_run.task().labels
    assert list(first) == ["n", "text", "label", "predicted_label", *(f"probability_{one}" for one in labels)]
    assert (first["n"], first["text"], first["label"]) == ("1", 'walk, the "a"\nthe\ta', "x")
    best = max(labels, key=lambda label: float(second[f"probability_{label}"]))
    assert (second["text"], second["predicted_label"]) == ("jump", best)
    result = run_script("run_prediction", *arguments, f"--output_file={tmp_path}/answers.tsv")
    assert result.returncode == 1 and "error: row 1, column 'text': 'walk" in result.stderr
    assert "Answered" not in result.stderr and sorted(tmp_path.iterdir()) == [answered, texts]


@pytest.mark.slow
def test_pairs_where_none_are_expected_are_refused_before_any_weight_is_read(finetuned_run, tmp_path):
    """The run has no checkpoint here, which would be the next thing missed."""
    for name in ("run.json", "config.json", "vocab.txt"):
        (tmp_path / name).write_bytes((finetuned_run.path / name).read_bytes())
    result = run_script("run_prediction", f"--run_dir={tmp_path}", "--text=a", "--text_pair=b")
    sentence = f"error: --text: {tmp_path} expects text, but received text and text_pair.\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--input_file=none.txt"], "error: --input_file=none.txt does not exist; give a file of texts"),
        (["--input_file={0}", "--layers=-1,x"], "error: --layers=-1,x: expected numbers such as -1,-2."),
        (
            ["--input_file={0}", "--output_file=a.vec"],
            "error: --output_file=a.vec: the ending says the format",
        ),
        (
            ["--input_file={0}", "--output_file=a.npz", "--format=jsonl"],
            "a.npz and --format=jsonl: the ending",
        ),
        (["--input_file={0}", "--run_dir=nowhere"], "error: checkpoint nowhere does not exist"),
    ],
)
def test_feature_extraction_refuses_at_once(tmp_path, arguments, sentence):
    texts = tmp_path / "texts.txt"
    texts.write_text("jump\n")
    arguments = ["--run_dir=none", *(argument.format(texts) for argument in arguments)]
    result = run_script("extract_features", f"--output_file={tmp_path}/out.jsonl", *arguments)
    assert result.returncode == 1 and result.stdout == ""
    assert sentence in result.stderr and result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]


@pytest.mark.parametrize(
    ("output_file", "flags", "sentence"),
    [
        ("texts.txt", ["--overwrite"], "error: output file {0}/texts.txt is the input {0}/texts.txt itself"),
        ("run/config.json", ["--overwrite"], "error: output file {0}/run/config.json is the input"),
        ("old.jsonl", [], "error: output file {0}/old.jsonl exists; pass --overwrite to replace it"),
    ],
)
def test_feature_extraction_writes_over_nothing(tmp_path, output_file, flags, sentence):
    (tmp_path / "run").mkdir()
    for name in ("texts.txt", "run/config.json", "old.jsonl"):
        (tmp_path / name).write_text("{}\n")
    paths = {"run_dir": "run", "input_file": "texts.txt", "output_file": output_file}
    arguments = [f"--{name}={tmp_path}/{path}" for name, path in paths.items()]
    result = run_script("extract_features", *arguments, *flags)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(sentence.format(tmp_path))
    assert (tmp_path / output_file).read_text() == "{}\n"


@pytest.mark.slow
def test_features_from_the_command_line(finetuned_run, tmp_path):
    (tmp_path / "texts.txt").write_text("jump the a\nwalk ||| play\n")
    arguments = [
        f"--run_dir={finetuned_run.path}",
        f"--input_file={tmp_path}/texts.txt",
        f"--output_file={tmp_path}/out.jsonl",
    ]
    result = run_script("extract_features", *arguments)  # the defaults fit a model of one layer
    assert result.returncode == 0, result.stderr
    assert "2 texts in" in result.stderr
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [f["token"] for f in first["features"]] == ["[CLS]", "jump", "the", "a", "[SEP]"]
    assert [f["token"] for f in second["features"]] == ["[CLS]", "walk", "[SEP]", "play", "[SEP]"]
    assert [layer["index"] for layer in first["features"][0]["layers"]] == [-1]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("draw_attention", ["--text=a", "--output_file={0}/a.png"], "must end in .html."),
        (
            "draw_attention",
            ["--text=a", "--layers=1,x", "--output_file={0}/a.html"],
            "error: --layers=1,x: expected numbers such as 1,-1.",
        ),
        ("draw_attention", ["--text=a", "--output_file={0}/old.html"], "old.html exists; pass --overwrite"),
        ("run_evaluation", ["--eval_file=b.tsv", "--html_file={0}/a.txt"], "a.txt must end in .html."),
        ("run_evaluation", ["--eval_file=b.tsv", "--html_file={0}/old.html"], "old.html exists; pass --over"),
        (
            "run_evaluation",
            ["--eval_file={0}/old.html", "--html_file={0}/old.html", "--overwrite"],
            "is the input",
        ),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--output_file={0}/old.html"],
            "old.html exists; pass --over",
        ),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--output_file={0}/metrics.csv"],
            "metrics.csv must end in .json: it holds one JSON object.",
        ),
        ("run_prediction", ["--text=a", "--output_file={0}/a.txt"], "a.txt: the ending says the form of the"),
        (
            "run_prediction",
            ["--text=a", "--output_file={0}/a.json.gz"],
            "end it in .jsonl (JSON lines), .csv",
        ),
        ("run_prediction", ["--text=a", "--output_file={0}/n/a.csv"], "its folder does not exist; make it"),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--html_file={0}/a.html", "--output_file={0}/a.html"],
            "give two names",
        ),
        (
            "run_evaluation",
            ["--eval_file=b.tsv", "--html_file={0}/a.html", "--output_file={0}/new/metrics.json"],
            "new/metrics.json: its folder does not exist; make it first.",
        ),
    ],
)
def test_pages_are_refused_at_once_where_they_cannot_be_written(tmp_path, name, arguments, sentence):
    (tmp_path / "old.html").write_text("old")
    result = run_script(name, "--run_dir=none", *(argument.format(tmp_path) for argument in arguments))
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("error: ") and sentence in result.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old.html", "old")]


@pytest.mark.slow
def test_a_page_of_an_evaluation_and_of_attention_from_the_command_line(
    finetuned_run, labelled_files, tmp_path
):
    page = tmp_path / "new" / "dev.html"  # whose folder is made, before the metrics are written
    kept = tmp_path / "new" / "dev.json"
    arguments = [f"--eval_file={labelled_files[1]}", f"--html_file={page}", "--html_examples=2"]
    result = run_script(
        "run_evaluation", f"--run_dir={finetuned_run.path}", f"--output_file={kept}", *arguments
    )
    assert result.returncode == 0, result.stderr
    metrics = json.loads(kept.read_text())
    confusion, closing = result.stdout.split("\n\n")
    assert confusion.startswith("true \\ predicted") and str(metrics["confusion"][0][0]) in confusion
    rows = dict(line.split(maxsplit=1) for line in closing.splitlines())
    assert rows["accuracy"] == f"{metrics['accuracy']:.4f}" and rows["num_examples"] == "13"
    assert (rows["page"], rows["metrics"]) == (str(page), str(kept))
    html = read_page(page)
    assert f"<b>accuracy {metrics['accuracy']:.4f}</b> on 13 examples" in html
    for title in ("Confusion", "Label by label", "Calibration", "By length", "Losses of the training"):
        assert f"<h2>{title}</h2>" in html
    wrong = round(13 * (1 - metrics["accuracy"]))
    assert html.count("<article") == min(2, wrong)

    drawn = tmp_path / "attention.html"
    arguments = ["--text=jump the a", "--text_pair=walk", "--heads=1,2", f"--output_file={drawn}"]
    result = run_script("draw_attention", f"--run_dir={finetuned_run.path}", *arguments)
    assert (result.returncode, result.stdout) == (0, f"Attention of 7 tokens written to {drawn}.\n"), result
    assert read_page(drawn).count("<figcaption>") == 2  # one layer of two heads
