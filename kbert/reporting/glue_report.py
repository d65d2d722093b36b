"""The results of GLUE as a table for a terminal, and as a page."""

from pathlib import Path

from kbert.files.whole_file import write_text
from kbert.reporting import html_page
from kbert.reporting.text_table import text_table

_HEADS = ("task", "metric", "mean", "deviation", "best run", "learning rate", "runs", "failed")
_NOTE = (
    "Mean and sample deviation are over the seeds of the best learning rate, chosen by the first metric's "
    "mean on the development file; a choice on the same file that is reported is optimistic. "
    "“Failed” counts the runs that do no better than the best constant answer."
)


def glue_rows(summary: dict) -> list[list[str]]:
    """A row for each metric of each task, as texts."""
    rows = []
    for name, task in summary["tasks"].items():
        for place, (metric, values) in enumerate(task["metrics"].items()):
            deviation = values["deviation"]
            first = (f"{task['learning_rate']:g}", str(task["runs"]), str(task["failed_runs"]))
            rows.append(
                [
                    name if not place else "",
                    metric,
                    f"{values['mean']:.4f}",
                    "" if deviation is None else f"{deviation:.4f}",
                    f"{task['best_run']['metrics'][metric]:.4f}",
                    *(first if not place else ("", "", "")),
                ]
            )
    return rows


def average_sentence(summary: dict) -> str:
    """The average in words; empty where there is none."""
    average = summary["average"]
    if average["value"] is None:
        return ""
    left_out = "; WNLI is left out, as in the BERT paper" if "wnli" in summary["tasks"] else ""
    tasks = len(average["tasks"])
    return f"average of {tasks} task{'s' if tasks > 1 else ''}: {average['value']:.4f}{left_out}"


def glue_table(summary: dict) -> str:
    """The table for a terminal."""
    table = text_table([_HEADS, *glue_rows(summary)], num_text_columns=2)
    return f"{table}\n{average_sentence(summary)}".rstrip()


def write_page(summary: dict, path: str | Path):
    """Writes the page: the table, and below it every learning rate."""
    rates = [
        [name, metric, f"{one['learning_rate']:g}", f"{values['mean']:.4f}", _seeds(values["values"])]
        for name, task in summary["tasks"].items()
        for one in task["by_learning_rate"]
        for metric, values in one["metrics"].items()
    ]
    sections = [
        html_page.section("Tasks", html_page.table(_HEADS, glue_rows(summary), num_text_columns=2)),
        html_page.section(
            "Learning rates",
            html_page.table(("task", "metric", "learning rate", "mean", "seeds"), rates, num_text_columns=2),
        ),
    ]
    lead = average_sentence(summary) or "Not one task that counts in the average is trained."
    write_text(html_page.page("GLUE", lead, _NOTE, sections), path)


def _seeds(values):
    return ", ".join(f"{value:.4f}" for value in values)
