"""The folders of one or several runs -> an HTML page with summary, curves and settings.

The page is one file without scripts that needs nothing else. It can be written at any time during a run.
"""

import json
import textwrap
from html import escape
from pathlib import Path

from absl import logging

from kbert.files.whole_file import write_text
from kbert.readable_numbers import readable_count, readable_seconds
from kbert.reporting import line_pictures, run_charts
from kbert.reporting.bar_pictures import percent
from kbert.reporting.evaluations import contents
from kbert.reporting.html_page import facts, page, section, table
from kbert.reporting.line_pictures import NUM_COLOURS
from kbert.reporting.run_charts import course_charts, quality_charts
from kbert.reporting.run_metrics import RunMetrics, is_loss, is_score, words

PAGE_FILE = "curves.html"


def write_run_page(runs: dict[str, str | Path], path: str | Path, title: str | None = None):
    """Writes the page of one or several runs. The file appears only when it is complete.

    Args:
      runs: the name to show -> the run's folder, which holds a metrics.jsonl.
      path: the .html file to write.
      title: the heading; by default the names.

    Raises:
      ValueError: when there is no run, there are more runs than colours, or a folder holds no metrics yet;
        the message names the folder.
    """
    if not runs:
        raise ValueError("there is no run to draw; give at least one run folder.")
    if len(runs) > NUM_COLOURS:
        raise ValueError(
            f"{len(runs)} runs are more than a picture has colours for; give {NUM_COLOURS} or fewer."
        )
    read = [RunMetrics.read(folder, name) for name, folder in runs.items()]
    html = _page(read, title or ", ".join(runs))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(html, path)


def write_page_of_run(folder: str | Path):
    """Writes curves.html into the folder of a run that has ended. A failure is only logged as a warning."""
    folder = Path(folder)
    try:
        write_run_page({folder.resolve().name: folder}, folder / PAGE_FILE)
    except (OSError, ValueError) as error:
        logging.warning("curves.html was not written: %s", error)


def places_of_run(folder: str | Path) -> dict[str, Path]:
    """What a person opens of a run that has ended: name -> its folder, metrics and page, where they are."""
    folder = Path(folder)
    files = {"metrics": folder / "metrics.jsonl", "page": folder / PAGE_FILE}
    return {"run": folder} | {name: path for name, path in files.items() if path.is_file()}


def _page(runs, title):
    one = runs[0] if len(runs) == 1 else None
    sections = [section("Result", _facts_of_run(one) + _evaluations(runs) if one else _comparison(runs))]
    if one:
        sections += _tables(one)
    for heading, charts in (quality_charts(runs) | course_charts(runs)).items():
        sections.append(section(heading, charts))
    settings = _settings(one) if one else _differences(runs)
    if settings:
        sections.append(section("Settings" if one else "Settings that differ", settings))
    lead = _lead(one) if one else f"{len(runs)} runs side by side."
    return page(
        title, lead, _note(runs), sections, line_pictures.STYLE + run_charts.STYLE + contents.STYLE + _STYLE
    )


def _note(runs):
    dropout = ", with dropout" if any(_has_dropout(run.config) for run in runs) else ""
    return (
        f"Lines are means over log intervals of training{dropout}; in a long run a line joins the means of "
        "several intervals, and the pale band around it holds them all. Points are evaluations on held-out "
        "data. Move the pointer over a curve to read its values."
    )


def _has_dropout(config):
    """Whether a run's recorded config drops anything, in its encoder or its adapters."""
    parts = (config.get("encoder") or {}, config.get("lora") or {})
    names = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout")
    return any(part.get(name) for part in parts for name in names)


def _lead(run):
    step, total = run.last("step"), _num_train_steps(run.config)
    steps = f"{step:,} of {total:,} steps" if total and total != step else f"{step:,} steps"
    parts = [f"<b>{escape(_model(run))}</b>, " if run.config.get("encoder") else "", f"after <b>{steps}</b>"]
    seconds = run.last("elapsed_seconds")
    if seconds:
        parts.append(f" in {readable_seconds(seconds)}")
    results = [
        f"{words(name)} <b>{_shown(name, run.evaluations(name)[1][-1])}</b>"
        for name in _evaluated(run)
        if is_score(name)
    ]
    if results:
        parts.append(" of training: on held-out data " + ", ".join(results))
    sentence = "".join(parts) + "."
    return sentence[0].upper() + sentence[1:]


def _num_train_steps(config):
    """The steps of a whole pretraining; None where epochs or a budget of time end the training."""
    if (config.get("optimizer") or {}).get("decay") == "budget":
        return None
    own = config.get("num_train_steps")
    phases = config.get("phases")
    return sum(phase.get("num_train_steps") or own for phase in phases) if phases else own


def _model(run):
    encoder = run.config["encoder"]
    return f"{encoder['num_hidden_layers']} layers, {encoder['hidden_size']} wide"


def _facts_of_run(run):
    values = {"steps": f"{run.last('step'):,}"}
    for name, field, shown in (
        ("time", "elapsed_seconds", readable_seconds),
        ("tokens seen", "tokens_seen", readable_count),
        ("examples a second", "examples_per_second", lambda value: f"{value:,.1f}"),
        ("tokens a second", "tokens_per_second", readable_count),
        ("of peak FLOP/s", "share_of_peak", percent),
    ):
        if run.last(field) is not None:
            values[name] = shown(_typical(run, field))
    return facts(values)


def _typical(run, field):
    """The last value, or the median for a rate: a single interval may be slow because of other programs."""
    if field in ("step", "elapsed_seconds", "tokens_seen"):
        return run.last(field)
    values = sorted(run.training(field)[1])
    return values[len(values) // 2]


def _evaluated(run):
    """The names of the losses and scores that have evaluations."""
    return [
        name for name in run.names(lambda name: is_loss(name) or is_score(name)) if run.evaluations(name)[0]
    ]


def _evaluations(runs):
    """A table with the last and best evaluation of one run."""
    (run,) = runs
    rows = []
    for name in _evaluated(run):
        steps, values = run.evaluations(name)
        best = _best(name, values)
        rows.append([words(name), _shown(name, values[-1]), _shown(name, values[best]), f"{steps[best]:,}"])
    if not rows:
        return "<p>Nothing has been evaluated on held-out data so far.</p>"
    return table(["on held-out data", "last", "best", "at step"], rows)


def _tables(run):
    """What the task shows of the last evaluation that has tables, such as a confusion matrix."""
    line = next(
        (line for line in reversed(run.lines) if any(isinstance(v, list) for v in line.values())), None
    )
    from kbert.tasks import TASKS

    # A task of somebody's own program may not be known here; older runs do not say what theirs was made of.
    if line is None or "task_config" not in run.details or run.details["task"] not in TASKS:
        return []
    # Keras loads here: a run without tables is drawn without it.
    parts = TASKS.recorded(run.details).metrics_page(line)
    after = f"On held-out data after step {line['step']:,}. "
    return [contents.drawn_section(part._replace(note=after + part.note), 0) for part in parts]


def _best(name, values):
    """Index of the lowest loss or highest score."""
    return min(range(len(values)), key=lambda i: values[i] if is_loss(name) else -values[i])


def _shown(name, value):
    return percent(value, 2) if is_score(name) else f"{value:.4f}"


def _comparison(runs):
    fields = {
        "steps": ("step", "{:,}".format),
        "time": ("elapsed_seconds", readable_seconds),
        "tokens seen": ("tokens_seen", readable_count),
        "examples a second": ("examples_per_second", "{:,.1f}".format),
        "tokens a second": ("tokens_per_second", readable_count),
        "of peak FLOP/s": ("share_of_peak", percent),
    }
    rows = []
    for name, (field, shown) in fields.items():
        if any(run.last(field) is not None for run in runs):
            rows.append([name, *(shown(_typical(run, field)) if run.last(field) else "–" for run in runs)])
    for name in dict.fromkeys(name for run in runs for name in _evaluated(run)):
        series = [run.evaluations(name) for run in runs]
        rows.append([f"{words(name)}, last", *(_shown(name, v[-1]) if v else "–" for _, v in series)])
        if any(len(values) > 1 for _, values in series):
            rows.append([f"{words(name)}, best", *(_best_and_step(name, *one) for one in series)])
    return table(["", *(run.name for run in runs)], rows)


def _best_and_step(name, steps, values):
    if not values:
        return "–"
    best = _best(name, values)
    return f"{_shown(name, values[best])} at {steps[best]:,}"


def _settings(run):
    """The most important settings, and all settings in a closed <details> element."""
    if not run.config:
        return ""
    config, rows = run.config, {}
    if config.get("encoder"):
        encoder = config["encoder"]
        rows["encoder"] = (
            f"{_model(run)}, {encoder['num_attention_heads']} heads, {encoder['intermediate_size']} inside, "
            f"{encoder['vocab_size']:,} pieces of vocabulary"
        )
    if run.details.get("max_seq_length"):
        rows["length"] = f"{run.details['max_seq_length']} tokens"
    optimizer = config.get("optimizer", {})
    if optimizer:
        rows["optimizer"] = f"{optimizer['name']}, learning rate {optimizer['learning_rate']:g}"
    for key, name in (
        ("train_batch_size", "batch"),
        ("precision", "precision"),
        ("jit_compile", "XLA"),
        ("seed", "seed"),
    ):
        if key in config:
            rows[name] = json.dumps(config[key]).strip('"')
    few = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows.items())
    files = "".join(
        f"<h3>{name}</h3><pre>{escape(json.dumps(content, indent=2, ensure_ascii=False))}</pre>"
        for name, content in (("config.json", config), ("run.json", run.details))
    )
    return f"<dl class='settings'>{few}</dl><details><summary>All settings</summary>{files}</details>"


def _differences(runs):
    flat = [_flatten(run.config) | _flatten(run.details) for run in runs]
    keys = dict.fromkeys(key for values in flat for key in values)
    rows = []
    for key in keys:
        values = [json.dumps(values[key], ensure_ascii=False) if key in values else "–" for values in flat]
        if len(set(values)) > 1 and key != "description":
            rows.append([key, *(_shortened(value.strip('"')) for value in values)])
    return table(["", *(run.name for run in runs)], rows, num_text_columns=1 + len(runs)) if rows else ""


def _flatten(values, prefix=""):
    flat = {}
    for key, value in values.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _shortened(text, most=60):
    return text if len(text) <= most else f"{text[: most - 1]}…"


_STYLE = textwrap.dedent("""
    main { max-width: 1160px; }
    .lead, .note { max-width: 860px; }
    .settings { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: .6rem 0; }
    .settings dd { margin: 0; }
    summary { cursor: pointer; color: var(--first); margin: .8rem 0; }
    h3 { font-size: .95rem; margin: 1rem 0 .2rem; }
    pre { margin: .2rem 0 .9rem; padding: .6rem .8rem; background: var(--faint); border-radius: 4px;
          white-space: pre-wrap; overflow-wrap: anywhere; font-size: .82rem; line-height: 1.45; }
    """)
