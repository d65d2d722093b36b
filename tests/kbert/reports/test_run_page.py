"""The page and the picture of runs: every number where it belongs, quick, the same every time."""

import json
import re

import numpy as np
import pytest

from kbert.config import FinetuningConfig, to_dict
from kbert.reports.line_charts import Chart, Kind, Series, thin
from kbert.reports.page import percent
from kbert.reports.run_metrics import RunMetrics
from kbert.reports.run_page import write_run_page
from kbert.scripts.draw_curves import write_curves
from tests.html_checks import read_page


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


def test_the_best_is_of_the_last_phase(run_folder, tmp_path):
    """Of other records the numbers of two phases cannot be compared; best.json follows the phase too."""
    losses = {100: (1, 1.5), 200: (1, 1.75), 300: (2, 2.5), 400: (2, 2.75)}
    lines = [eval_line(step, loss, 0.2) | {"phase": phase} for step, (phase, loss) in losses.items()]
    rows = cells(page_of(tmp_path / "page.html", run=run_folder("run", lines)))
    assert ["masked LM loss", "2.7500", "2.5000", "300"] in rows


def page_of(path, **runs):
    write_run_page(runs, path)
    return read_page(path)


def captions(html):
    return re.findall(r"<figcaption><b>(.*?)</b>", html)


def cells(html):
    """The rows of all tables as lists of texts."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]


def titles(html):
    """What stands under the pointer, of all pictures."""
    return re.findall(r"<g class='column'><title>(.*?)</title>", html)


def test_a_run_has_a_picture_of_each_metric_and_a_table_of_its_evaluations(run_folder, tmp_path):
    folder = run_folder("phase1", LINES)
    html = page_of(tmp_path / "page.html", phase1=folder)
    assert captions(html) == [
        "Masked LM loss", "Masked LM accuracy", "Learning rate", "Gradient norm", "Examples per second",
        "Share of peak FLOP/s",
    ]  # fmt: skip
    assert cells(html) == [
        ["on held-out data", "last", "best", "at step"],
        ["masked LM loss", "3.7500", "3.5000", "100"],
        ["masked LM accuracy", "22.00%", "22.00%", "200"],
    ]
    for fact in ("<dd>200</dd><dt>steps", "<dd>06:40</dd><dt>time", "<dd>12.8k</dd><dt>tokens seen"):
        assert fact in html
    assert titles(html)[:2] == ["step 100: 0.1000  ● 3.5000", "step 200: 0.0500  ● 3.7500"]
    assert page_of(tmp_path / "again.html", phase1=folder) == html


@pytest.mark.parametrize("suffix", [".html", ".png"])
def test_a_picture_of_more_runs_than_colours_is_refused(run_folder, tmp_path, suffix):
    folders = [str(run_folder(f"run{number}", LINES)) for number in range(9)]
    with pytest.raises(ValueError, match="9 runs are more than a picture has colours for; give 8 or fewer"):
        write_curves(folders, tmp_path / f"nine{suffix}")
    (tmp_path / "run0").rename(tmp_path / "lr=1,wd=2")
    write_curves([tmp_path / "lr=1,wd=2", *folders[1:8]], tmp_path / f"eight{suffix}")
    assert [path.name for path in tmp_path.glob(f"*{suffix}")] == [f"eight{suffix}"]


def test_a_link_to_a_run_is_drawn_by_its_own_name(run_folder, tmp_path):
    (tmp_path / "best").symlink_to(run_folder("20261130", LINES))
    write_curves([tmp_path / "best"], tmp_path / "curves.html")
    html = (tmp_path / "curves.html").read_text()
    assert "<h1>best</h1>" in html and "20261130" not in html


def test_scores_of_questions_are_percent_however_small(run_folder, tmp_path):
    scores = {"exact_match": 0.7, "f1": 0.95, "span_accuracy": 0.4}
    questions = run_folder("questions", [eval_line(100, 3.0, 0.2) | scores])
    names = run_folder("names", [eval_line(100, 3.0, 0.2) | {"f1": 0.95}])
    percent = [["exact match", "0.70%"], ["F1", "0.95%"], ["span accuracy", "40.00%"]]
    shares = [["exact match", "70.00%"], ["F1", "95.00%"], ["span accuracy", "40.00%"]]
    for details, shown in ({}, percent), ({"task": "question_answering"}, percent), ({"task": "own"}, shares):
        (questions / "run.json").write_text(json.dumps(details))
        rows = cells(page_of(tmp_path / "page.html", questions=questions))
        assert [row[:2] for row in rows[3:]] == shown
    assert ["F1", "95.00%", "95.00%", "100"] in cells(page_of(tmp_path / "page.html", names=names))


def test_every_score_of_the_task_is_shown_and_only_shares_are_percent(run_folder, tmp_path):
    scores = {"pearson": 0.88, "ndcg_at_10": 0.5, "calibration_error": 0.25, "other_f1": 0.75, "nan": None}
    no_scores = {"num_pairs": 7, "temperature": 1.5, "other_threshold": 0.5, "time": 1e9, "confusion": []}
    better = {"step": 200, "pearson": -0.125, "calibration_error": 0.5}
    lines = [eval_line(100, 3.0, 0.2) | scores | no_scores]
    folder = run_folder("run", [*lines, lines[0] | better])
    (folder / "run.json").write_text(json.dumps({"task": "sequence_regression", "task_config": {}}))
    html = page_of(tmp_path / "page.html", run=folder)
    assert cells(html)[1:] == [
        ["masked LM loss", "3.0000", "3.0000", "100"],
        ["masked LM accuracy", "20.00%", "20.00%", "100"],
        ["pearson", "-0.1250", "0.8800", "100"],
        ["ndcg at 10", "0.5000", "0.5000", "100"],
        ["calibration error", "0.5000", "0.2500", "100"],
        ["other F1", "75.00%", "75.00%", "100"],
    ]
    assert captions(html) == [row[0][0].upper() + row[0][1:] for row in cells(html)[1:]]
    assert "pearson <b>-0.1250</b>" in html and "calibration error <b>" not in html


def test_what_a_run_writes_beside_its_metrics_is_no_score(finetuned_run):
    assert RunMetrics.read(finetuned_run.path, "run").scores() == [
        "accuracy", "f1", "matthews", "calibration_error", "chosen_calibration_error", "best_f1",
    ]  # fmt: skip


def test_what_is_less_than_all_is_never_shown_as_all():
    assert [percent(share, 2) for share in (1.0, 0.99996, 0.9999, 0.5, 0.0, 1.2)] == [
        "100.00%", "99.99%", "99.99%", "50.00%", "0.00%", "120.00%",
    ]  # fmt: skip
    assert percent(0.9996) == "99.9%"


def test_scores_of_constant_answers_have_no_curve(run_folder, tmp_path):
    scores = {"exact_match": 80.0, "best_exact": 81.0, "best_exact_thresh": 0.5, "other_baseline_f1": 50.0}
    folder = run_folder("questions", [eval_line(100, 3.0, 0.2) | scores])
    (folder / "run.json").write_text(json.dumps({"task": "question_answering", "task_config": {}}))
    rows = cells(page_of(tmp_path / "page.html", run=folder))
    assert [row[:2] for row in rows[3:]] == [["exact match", "80.00%"], ["best exact", "81.00%"]]


def test_the_page_of_a_run_has_the_tables_of_its_last_evaluation(run_folder, tmp_path):
    lines = [*LINES, eval_line(300, 3.0, 0.5) | {"confusion": [[3, 1], [2, 4]]}]
    folder = run_folder("run", lines, to_dict(FinetuningConfig()))
    record = {"task": "sequence_classification", "task_config": {"labels": ["<no>", "yes"]}}
    (folder / "run.json").write_text(json.dumps(record))
    html = page_of(tmp_path / "page.html", run=folder)
    assert "On held-out data after step 300. How many" in html
    assert ["&lt;no&gt;", "60.0%", "75.0%", "66.7%", "5", "4"] in cells(html)


def test_a_thinned_line_keeps_mean_and_extremes():
    rng = np.random.default_rng(0)
    steps = np.arange(1, 10001) * 50
    steps[5000:] += 10**6  # a gap
    values = rng.normal(size=10000)
    values[1234] = 40.0
    some, means, lowest, highest = thin(steps, values, most=100)
    assert len(some) < 100 and np.all(np.diff(some) > 0)
    assert (lowest.min(), highest.max()) == (values.min(), 40.0)
    assert np.all((lowest <= means) & (means <= highest))
    short = thin(steps[:100], values[:100], most=100)
    assert all(np.array_equal(a, b) for a, b in zip(short, (steps[:100], *[values[:100]] * 3), strict=True))


@pytest.mark.parametrize(
    ("lines", "points", "together"),
    [([5], [], True), ([5, 5], [5], True), ([5, 3], [], False), ([5], [4], False), ([], [4], True)],
)
def test_last_values_of_one_step_are_told_from_others(lines, points, together):
    series = [Series("a", 0, [1, last], [0.0, 1.0]) for last in lines]
    series += [Series("b", 1, [], [], [last], [1.0]) for last in points]
    assert Chart("Loss", series, Kind(str), 5).ends_together is together
