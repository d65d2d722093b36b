"""The folders of one or several runs -> a page with results, curves and settings.

It can be written at any time during a run.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from absl import logging
from tqdm import tqdm

from kbert.reports.page import percent, setting_text, size_text, write_page
from kbert.reports.run_charts import course_charts, quality_charts
from kbert.reports.run_metrics import RunMetrics, is_share, words
from kbert.runs.metrics_file import is_calibration
from kbert.runs.resume import flat_settings
from kbert.tasks import TASKS
from kbert.tasks.pages.content import shortened

PAGE_FILE = "curves.html"
_LONGEST = 60  # characters of a setting
_FACTS = {
    "steps": ("step", "{:,}".format),
    "time": ("elapsed_seconds", tqdm.format_interval),
    "tokens seen": ("tokens_seen", tqdm.format_sizeof),
    "examples a second": ("examples_per_second", "{:,}".format),
    "tokens a second": ("tokens_per_second", tqdm.format_sizeof),
    "of peak FLOP/s": ("share_of_peak", percent),
}


def write_run_page(runs: Mapping[str, str | Path], path: str | Path, title: str | None = None):
    """Writes the page of one or several runs. The file appears only when it is complete.

    Args:
      runs: the name to show -> the run's folder, which holds a metrics.jsonl.
      path: the .html file to write.
      title: the heading; by default the names.

    Raises:
      ValueError: as `run_charts.draw_curves` does.
    """
    read = RunMetrics.read_all(runs)
    values = _run_values(*read) if len(read) == 1 else _comparison_values(read)
    values |= {
        "names": list(runs),
        "curves": quality_charts(read) + course_charts(read),
        "has_dropout": any(_has_dropout(run.config) for run in read),
    }
    write_page(path, "run.html", title=title or ", ".join(runs), **values)


def try_write_run_page(folder: str | Path):
    """Writes curves.html into the folder of a run that has ended. A failure is only logged as a warning."""
    folder = Path(folder)
    try:
        write_run_page({folder.resolve().name: folder}, folder / PAGE_FILE)
    except (OSError, ValueError) as error:
        logging.warning("curves.html was not written: %s", error)


def result_paths(folder: str | Path) -> dict[str, object]:
    """What a person opens of a run that has ended: its folder and the size of that, metrics and page."""
    folder = Path(folder)
    files = {"metrics": folder / "metrics.jsonl", "page": folder / PAGE_FILE}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"run": folder, "size": size_text(size)} | {n: path for n, path in files.items() if path.is_file()}


def _run_values(run):
    evaluated = _evaluated(run)
    scores = [name for name in run.scores() if name in evaluated and not is_calibration(name)]
    return {
        "config": run.config,
        "details": run.details,
        "steps": _steps(run),
        "seconds": run.last("elapsed_seconds"),
        "scores": {words(name): evaluated[name][0] for name in scores},
        "facts": _facts(run),
        "rows": [[words(name), *values] for name, values in evaluated.items()],
        "tables": _tables(run),
        "files": {
            name: json.dumps(content, indent=2, ensure_ascii=False)
            for name, content in (("config.json", run.config), ("run.json", run.details))
        },
        "differences": [],
    }


def _comparison_values(runs):
    facts, evaluated = [_facts(run) for run in runs], [_evaluated(run) for run in runs]
    rows = [
        [name, *(run_facts.get(name, "–") for run_facts in facts)]
        for name in dict.fromkeys(sum(map(list, facts), []))
    ]
    for name in dict.fromkeys(sum(map(list, evaluated), [])):
        values = [metrics.get(name, ("–",)) for metrics in evaluated]
        rows.append([f"{words(name)}, last", *(last for last, *_ in values)])
        rows.append([f"{words(name)}, best", *(" at ".join(best) or "–" for _, *best in values)])
    return {"rows": rows, "tables": [], "config": {}, "differences": _differences(runs)}


def _has_dropout(config):
    """Whether a run's recorded config drops anything, in its encoder or its adapters."""
    groups = (config.get("encoder") or {}, config.get("lora") or {})
    names = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout")
    return any(group.get(name) for group in groups for name in names)


def _steps(run):
    """How far a run is. The steps of a whole training are known, unless epochs or a budget of time end it."""
    step, config, total = run.last("step"), run.config, None
    if (config.get("optimizer") or {}).get("decay") != "budget":
        phases = config.get("phases") or [{}]
        total = sum(phase.get("num_train_steps") or config.get("num_train_steps") or 0 for phase in phases)
    return f"{step:,} of {total:,} steps" if total and total != step else f"{step:,} steps"


def _facts(run):
    """The last values, and medians of rates: a single interval may be slow because of other programs."""
    facts = {}
    for name, (field, shown) in _FACTS.items():
        rates = sorted(run.training(field)[1]) if field.endswith(("second", "peak")) else []
        value = rates[len(rates) // 2] if rates else run.last(field)
        if value is not None:
            facts[name] = shown(value)
    return facts


def _evaluated(run):
    """Loss or score -> its last and its best value on held-out data, and the step of the best, which is of
    the last phase, as in best.json: numbers on other data cannot be compared."""
    evaluated = {}
    phases = {line["step"]: line.get("phase") for line in run.lines if line["split"] != "train"}
    for name in run.losses() + run.scores():
        steps, values = run.evaluations(name)
        if values:
            phase_numbers = [phases[step] for step in steps]
            first = phase_numbers.index(phase_numbers[-1])
            steps, values = steps[first:], values[first:]
            best = values.index(max(values) if run.task.higher_is_better(name) else min(values))
            shown = functools.partial(percent, digits=2) if is_share(name) else "{:.4f}".format
            evaluated[name] = (shown(values[-1]), shown(values[best]), f"{steps[best]:,}")
    return evaluated


def _tables(run):
    """What the task shows of the last evaluation that has tables, such as a confusion matrix."""
    with_tables = [line for line in run.lines if any(isinstance(value, list) for value in line.values())]
    # A task of somebody's own program may not be known here.
    if not with_tables or "task_config" not in run.details or run.details["task"] not in TASKS:
        return []
    # Keras loads here: a run without tables is drawn without it.
    page = TASKS.recorded(run.details).page
    sections = page.metric_sections(with_tables[-1]) if page else []
    after = f"On held-out data after step {with_tables[-1]['step']:,}. "
    return [section._replace(note=after + section.note) for section in sections]


def _differences(runs):
    flat = [flat_settings(run.config) | flat_settings(run.details) for run in runs]
    rows = []
    for key in dict.fromkeys(key for settings in flat for key in settings if key != "description"):
        values = [setting_text(settings[key]) if key in settings else "–" for settings in flat]
        if len(set(values)) > 1:
            shown = [shortened(value, _LONGEST) for value in values]
            if len(set(shown)) < len(set(values)):  # paths of one folder
                shown = [v if len(v) <= _LONGEST else f"…{v[1 - _LONGEST :]}" for v in values]
            rows.append([key, *shown])
    return rows
