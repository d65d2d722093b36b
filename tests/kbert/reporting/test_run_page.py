"""The page of a run: everything in one file, every number where it belongs, quick for long runs."""

import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from kbert.config import EncoderConfig, FinetuningConfig, LoraConfig, OptimizerConfig, to_dict
from kbert.reporting.line_pictures import Kind, Series, chart, short_number, thin
from kbert.reporting.run_metrics import RunMetrics
from kbert.reporting.run_page import write_run_page
from tests.html_checks import Balanced

KIND = Kind(text="{:.3f}".format, tick=short_number)


@pytest.fixture
def run_folder(tmp_path):
    """Writes a run folder with the given lines of metrics.jsonl, and perhaps a config."""

    def write(name, lines, config=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if config:
            (folder / "config.json").write_text(json.dumps(config))
        return folder

    return write


def train_line(step, **values):
    metrics = {"masked_lm_loss": 10.0 / step, "masked_lm_accuracy": step / 1000, "gradient_norm": 1.5}
    rates = {
        "learning_rate": 1e-4,
        "examples_per_second": 99.5,
        "share_of_peak": 0.4,
        "tokens_seen": 64 * step,
    }
    return {"step": step, "split": "train"} | metrics | rates | {"elapsed_seconds": 2.0 * step} | values


def eval_line(step, loss, accuracy):
    values = {"masked_lm_loss": loss, "masked_lm_accuracy": accuracy, "elapsed_seconds": 2.0 * step}
    return {"step": step, "split": "eval"} | values


LINES = [train_line(100), eval_line(100, 3.5, 0.21), train_line(200), eval_line(200, 3.75, 0.22)]


def page_of(path, **runs):
    write_run_page(runs, path)
    html = path.read_text(encoding="utf-8")
    Balanced().check(html)
    assert not re.search(r"<script|https?://|<link|@import|url\(", html)  # one file, and nothing runs
    return html


def captions(html):
    return re.findall(r"<figcaption>(.*?)</figcaption>", html)


def cells(html):
    """The rows of all tables as lists of texts."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]


def test_a_run_has_a_picture_of_each_metric_and_a_table_of_its_evaluations(run_folder, tmp_path):
    html = page_of(tmp_path / "page.html", phase1=run_folder("phase1", LINES))
    assert captions(html) == [
        "Masked LM loss", "Masked LM accuracy", "Learning rate", "Gradient norm", "Examples per second",
        "Share of peak FLOP/s",
    ]  # fmt: skip
    assert cells(html) == [
        ["on held-out data", "last", "best", "at step"],
        ["masked LM loss", "3.7500", "3.5000", "100"],
        ["masked LM accuracy", "22.00%", "22.00%", "200"],
    ]
    for fact in ("<dd>200</dd><dt>steps", "<dd>6m40s</dd><dt>time", "<dd>12.8k</dd><dt>tokens seen"):
        assert fact in html


def test_runs_share_their_pictures_and_are_told_apart(run_folder, tmp_path):
    config = to_dict(FinetuningConfig(train_batch_size=8))
    a = run_folder("a", LINES, config)
    b = run_folder("b", [train_line(50, masked_lm_loss=9.0)], config | {"train_batch_size": 16})
    html = page_of(tmp_path / "both.html", a=a, b=b)
    assert captions(html).count("Masked LM loss") == 1
    assert html.count("<path class='line c0'") == html.count("<path class='line c1'") == 6
    assert ["steps", "200", "50"] in cells(html)
    assert ["masked LM loss, last", "3.7500", "–"] in cells(html)
    assert ["masked LM loss, best", "3.5000 at 100", "–"] in cells(html)
    assert ["train_batch_size", "8", "16"] in cells(html)
    assert not any(row[0] == "eval_batch_size" for row in cells(html))  # the same in both


def test_phases_are_marked_where_they_begin(run_folder, tmp_path):
    lines = [train_line(step, phase=1 + (step > 300)) for step in (100, 200, 300, 400, 500)]
    html = page_of(tmp_path / "page.html", run=run_folder("run", lines))
    marks = re.findall(r"<line class='phase' x1='([\d.]+)%'", html)
    assert marks == ["60.00"] * len(captions(html))
    assert html.count(">phase 2</text>") == len(captions(html))


def test_a_run_under_way_says_how_far_it_is(run_folder, tmp_path):
    phases = [{"num_train_steps": 900}, {"num_train_steps": None}]
    by_time = to_dict(OptimizerConfig(decay="budget", train_minutes=52))
    for config, steps in (
        ({"num_train_steps": 300}, "200 of 300 steps"),
        ({"num_train_steps": 100, "phases": phases}, "200 of 1,000 steps"),
        ({"num_train_steps": 1_000_000, "optimizer": by_time}, "200 steps"),
    ):
        html = page_of(tmp_path / "page.html", run=run_folder(steps, LINES, config))
        assert f"After <b>{steps}</b> in 6m40s of training: on held-out data" in html


def test_settings_are_shown_and_names_are_escaped(run_folder, tmp_path):
    config = to_dict(FinetuningConfig(description="a <b>bold</b> run"))
    html = page_of(tmp_path / "page.html", **{"<i>run</i>": run_folder("run", LINES, config)})
    assert "<h1>&lt;i&gt;run&lt;/i&gt;</h1>" in html
    assert "a &lt;b&gt;bold&lt;/b&gt; run" in html and "<b>bold</b>" not in html


@pytest.mark.parametrize(("rate", "lora_rate"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)])
def test_dropout_is_said_where_there_is_some(run_folder, tmp_path, rate, lora_rate):
    encoder = EncoderConfig(vocab_size=90, hidden_dropout_prob=0.0, attention_probs_dropout_prob=rate)
    config = to_dict(FinetuningConfig(encoder=encoder, lora=LoraConfig(rank=2, dropout=lora_rate)))
    html = page_of(tmp_path / "page.html", run=run_folder("run", LINES, config))
    assert (", with dropout;" in html) == bool(rate or lora_rate)


def test_the_page_of_a_run_has_the_tables_of_its_last_evaluation(run_folder, tmp_path):
    lines = [*LINES, eval_line(300, 3.0, 0.5) | {"confusion": [[3, 1], [2, 4]]}]
    folder = run_folder("run", lines, to_dict(FinetuningConfig()))
    record = {"task": "sequence_classification", "task_config": {"labels": ["<no>", "yes"]}}
    (folder / "run.json").write_text(json.dumps(record))
    html = page_of(tmp_path / "page.html", run=folder)
    assert "<h2>Confusion</h2>\n<p class='note'>On held-out data after step 300. How many" in html
    assert ["&lt;no&gt;", "60.0%", "75.0%", "66.7%", "5", "4"] in cells(html)
    assert "<h2>Confusion</h2>" not in page_of(tmp_path / "page.html", a=folder, b=run_folder("b", LINES))
    (folder / "run.json").write_text(json.dumps(record | {"task": "a_task_of_my_own"}))
    assert "<h2>Confusion</h2>" not in page_of(tmp_path / "page.html", run=folder)


def test_a_metric_of_evaluations_alone_is_read_at_their_step(run_folder, tmp_path):
    html = page_of(tmp_path / "page.html", run=run_folder("run", [eval_line(62, 0.7, 0.5)]))
    assert re.findall(r"<text class='rest' y='14'>(step \d+)", html) == ["step 62", "step 62"]


def test_official_percentages_are_shown_as_they_are(run_folder, tmp_path):
    """The official scores of questions are in percent already."""
    line = {"step": 3, "split": "eval", "loss": 2.0, "span_accuracy": 0.3, "exact_match": 46.5, "f1": 59.25}
    rows = cells(page_of(tmp_path / "page.html", run=run_folder("run", [line])))
    for name, shown in (("span accuracy", "30.00%"), ("exact match", "46.50%"), ("F1", "59.25%")):
        assert [name, shown, shown, "3"] in rows


def test_a_single_evaluation_makes_a_page(run_folder, tmp_path):
    html = page_of(tmp_path / "page.html", run=run_folder("run", [eval_line(62, 0.7, 0.5)]))
    assert captions(html) == ["Masked LM loss", "Masked LM accuracy"]
    assert html.count("<circle") == 2


def test_a_value_that_was_no_number_is_left_out(run_folder, tmp_path):
    lines = [eval_line(10, None, 0.5), eval_line(20, 2.0, 0.5)]
    html = page_of(tmp_path / "page.html", run=run_folder("run", lines))
    assert ["masked LM loss", "2.0000", "2.0000", "20"] in cells(html)


def test_a_million_steps_make_a_small_page_in_a_few_seconds(run_folder, tmp_path):
    folder = run_folder("long", [train_line(50 * step) for step in range(1, 20001)])
    start = time.process_time()
    html = page_of(tmp_path / "page.html", long=folder)
    assert time.process_time() - start < 8
    assert len(html) < 300_000


def test_the_numbers_under_the_pointer_are_those_of_the_run():
    series = [Series(0, [10, 20, 30], [1.0, 2.0, 3.0], [20], [2.5]), Series(1, [10], [7.0], [], [])]
    readings = re.findall(r"class='column'>.*?<text y='14'>(.*?)</text>", chart("T", series, KIND, 30))
    assert [re.sub("<.*?>", " ", reading).split() for reading in readings] == [
        ["step", "10", "1.000", "7.000"],
        ["step", "20", "2.000", "●", "2.500"],
        ["step", "30", "3.000"],
    ]


def test_columns_of_readings_cover_the_picture_once():
    steps = list(range(7, 900, 3))
    html = chart("T", [Series(0, steps, steps, [], [])], KIND, steps[-1])
    columns = re.findall(r"class='column'><rect x='([\d.]+)%' y='0' width='([\d.]+)%'", html)
    edge = 0.0
    for left, width in columns:
        assert float(left) == pytest.approx(edge, abs=0.02)
        edge = float(left) + float(width)
    assert edge == pytest.approx(100, abs=0.02) and 10 < len(columns) <= 48


def test_places_are_right():
    html = chart("T", [Series(0, [0, 50, 100], [0.0, 5.0, 10.0], [50], [5.0])], KIND, 100)
    across, up = zip(
        *[map(int, p.split()) for p in re.search(r"d='M(.*?)'", html)[1].split("L")], strict=True
    )
    assert across == (0, 500, 1000)
    assert up[0] == 1000 and up[1] - up[2] == pytest.approx(up[0] - up[1], abs=1)
    (x, y), (_, low), (_, high) = (
        *re.findall(r"<circle class='c0' cx='([\d.]+)%' cy='([\d.]+)'", html),
        *[("", y) for y in (24 + 170, 24)],
    )
    assert float(x) == 50.0
    assert (float(low) - float(y)) / (low - high) == pytest.approx(1 - up[1] / 1000, abs=0.002)


def test_a_thinned_line_keeps_mean_and_extremes():
    rng = np.random.default_rng(0)
    steps = np.arange(1, 10001) * 50
    values = rng.normal(size=10000)
    values[1234] = 40.0
    some, means, lowest, highest = thin(steps, values, most=100)
    assert len(some) == 100 and np.all(np.diff(some) > 0)
    assert means.mean() == pytest.approx(values.mean(), abs=1e-3)
    assert (lowest.min(), highest.max()) == (values.min(), 40.0)
    assert np.all((lowest <= means) & (means <= highest))
    short = thin(steps[:100], values[:100], most=100)
    assert all(np.array_equal(a, b) for a, b in zip(short, (steps[:100], *[values[:100]] * 3), strict=True))


def test_a_line_with_a_gap_is_thinned_to_what_is_there():
    steps = np.concatenate([np.arange(500), np.arange(100_000, 100_500)])
    some, means, lowest, highest = thin(steps, steps, most=50)
    assert len(some) < 50 and np.array_equal(some, means)
    assert (lowest[0], highest[-1]) == (0, 100_499)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1500, "1.5k"), (2e6, "2M"), (0.25, "0.25"), (1e-4, "1e-4"), (2.5e-5, "2.5e-5"), (-3, "-3")],
)
def test_numbers_at_the_scale_are_short(value, shown):
    assert short_number(value) == shown


def test_what_is_missing_is_named(run_folder, tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(ValueError, match=r"nowhere holds no metrics\.jsonl; give the --run_dir"):
        write_run_page({"": tmp_path / "nowhere"}, path)
    with pytest.raises(ValueError, match="no run to draw"):
        write_run_page({}, path)
    with pytest.raises(ValueError, match="9 runs are more than a picture has colours for; give 8"):
        write_run_page({str(n): tmp_path for n in range(9)}, path)
    assert not path.exists()


def run_script(*flags):
    command = [sys.executable, "-m", "kbert.scripts.draw_curves", *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_script_writes_the_page_into_the_run_folder_and_a_comparison_where_it_is_told(
    run_folder, tmp_path
):
    a, b = run_folder("one/run", LINES), run_folder("two/run", LINES)
    result = run_script(f"--run_dir={a}")
    assert (result.returncode, result.stdout) == (0, f"Curves written to {a}/curves.html.\n"), result.stderr
    assert sorted(path.name for path in a.iterdir()) == ["curves.html", "metrics.jsonl"]
    both = tmp_path / "new" / "both.html"
    assert run_script(f"--run_dir={a}", f"--run_dir={b}", f"--output_file={both}").returncode == 0
    assert f">{a}</li>" in both.read_text() and f">{b}</li>" in both.read_text()


def test_the_script_writes_over_nothing_but_its_own_page(run_folder, tmp_path):
    folder, page = run_folder("run", LINES), tmp_path / "run.html"
    page.write_text("old")
    (tmp_path / "run.png").symlink_to(folder / "metrics.jsonl")
    before = (folder / "metrics.jsonl").read_bytes()
    for flags, sentence in (
        ([f"--output_file={page}"], f"error: output file {page} exists; pass --overwrite to replace it"),
        ([f"--output_file={tmp_path}/run.png", "--overwrite"], "error: output file"),
    ):
        result = run_script(f"--run_dir={folder}", *flags)
        assert result.returncode == 1 and result.stderr.count("\n") == 1
        assert result.stderr.startswith(sentence)
    assert page.read_text() == "old" and (folder / "metrics.jsonl").read_bytes() == before
    assert run_script(f"--run_dir={folder}", f"--output_file={page}", "--overwrite").returncode == 0
    assert "<html" in page.read_text()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("config.json", "[1]", "config.json: expected a JSON object, received list"),
        ("run.json", '{"a":', "run.json is not valid JSON"),
        ("metrics.jsonl", "{}\n", "metrics.jsonl holds no metrics yet"),
        ("metrics.jsonl", "\0\0\n", "metrics.jsonl holds no metrics yet"),
    ],
)
def test_broken_files_of_a_run_are_named(run_folder, name, content, sentence):
    folder = run_folder("run", LINES)
    (folder / name).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        RunMetrics.read(folder, "run")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--run_dir={0}/a", "--run_dir={0}/b"], "error: several runs need --output_file"),
        (
            ["--run_dir={0}/a", "--run_dir={0}/a", "--output_file=x.html"],
            "error: --run_dir names {0}/a twice",
        ),
        (
            ["--run_dir={0}/a", "--output_file=x.pdf"],
            "error: --output_file=x.pdf must end in .html or .png",
        ),
    ],
)
def test_wrong_flags_are_one_sentence(tmp_path, flags, sentence):
    result = run_script(*(flag.format(tmp_path) for flag in flags))
    assert result.returncode == 1
    assert result.stderr.startswith(sentence.format(tmp_path)) and result.stderr.count("\n") == 1
