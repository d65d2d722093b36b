"""The summary of GLUE, worked out by hand."""

import math
import statistics

import pytest

from kbert.experiments.glue.glue_summary import average, summarize_task
from kbert.experiments.glue.glue_tasks import GLUE_TASKS
from kbert.reports.glue_report import average_sentence, glue_table, write_page
from kbert.reports.seed_summary import summarize_seeds


def of_seeds(**columns):
    """What `run_seeds` gives, from metrics by name, a value for each seed."""
    number = len(next(iter(columns.values())))
    return summarize_seeds(
        {seed: {n: v[seed - 1] for n, v in columns.items()} for seed in range(1, number + 1)}
    )


@pytest.fixture
def mrpc():
    return summarize_task(
        GLUE_TASKS["mrpc"],
        {
            5e-5: of_seeds(accuracy=[0.68, 0.90], f1=[0.81, 0.93], baseline_accuracy=[0.68, 0.68]),
            3e-5: of_seeds(accuracy=[0.84, 0.88], f1=[0.80, 0.90], baseline_accuracy=[0.68, 0.68]),
        },
    )


def test_the_learning_rate_is_chosen_by_the_mean_and_the_run_by_its_own(mrpc):
    """5e-5 has the best run, 3e-5 the best mean."""
    assert mrpc["learning_rate"] == 3e-5 and mrpc["metrics"]["accuracy"]["mean"] == pytest.approx(0.86)
    assert mrpc["metrics"]["f1"]["deviation"] == pytest.approx(statistics.stdev([0.80, 0.90]))
    assert mrpc["best_run"] == {"learning_rate": 5e-5, "seed": 2, "metrics": {"accuracy": 0.90, "f1": 0.93}}
    assert (mrpc["runs"], mrpc["failed_runs"]) == (4, 1)


def test_a_task_without_a_number_is_below_every_other():
    rates = {
        1e-3: of_seeds(pearson=[math.nan], spearman=[math.nan]),
        1e-5: of_seeds(pearson=[-1.0], spearman=[-1.0]),
    }
    assert summarize_task(GLUE_TASKS["stsb"], rates)["learning_rate"] == 1e-5


def test_the_average_is_over_tasks_and_leaves_wnli_out(mrpc, tmp_path):
    wnli = summarize_task(GLUE_TASKS["wnli"], {5e-5: of_seeds(accuracy=[0.56], baseline_accuracy=[0.56])})
    cola = summarize_task(GLUE_TASKS["cola"], {5e-5: of_seeds(matthews=[0.5])})
    by_task = {"cola": cola, "mrpc": mrpc, "wnli": wnli}
    overall = average(by_task)
    assert overall["tasks"] == ["cola", "mrpc"]
    assert overall["value"] == pytest.approx((0.5 + (0.86 + 0.85) / 2) / 2)
    assert average({"wnli": wnli})["value"] is None

    summary = {"tasks": by_task, "average": overall}
    assert (
        average_sentence(summary)
        == f"average of 2 tasks: {overall['value']:.4f}; WNLI is left out, as in the BERT paper"
    )
    cells = [line.split() for line in glue_table(summary).splitlines()]
    assert cells[1] == ["cola", "matthews", "0.5000", "0.5000", "5e-05", "1", "0"]
    assert cells[2] == ["mrpc", "accuracy", "0.8600", "0.0283", "0.9000", "3e-05", "4", "1"]
    assert cells[3] == ["f1", "0.8500", "0.0707", "0.9300"]
    assert cells[4] == ["wnli", "accuracy", "0.5600", "0.5600", "5e-05", "1", "1"]
    write_page({"tasks": {"wnli": wnli}, "average": average({"wnli": wnli})}, tmp_path / "page.html")
    assert "Not one task that counts in the average" in (tmp_path / "page.html").read_text(encoding="utf-8")
