"""metrics.jsonl -> a picture of the training: losses and scores by step, one row a run."""

import io
from pathlib import Path

from kbert.training.progress import read_metrics

_WIDTH_INCHES = 12
_DOTS_PER_INCH = 100
_TITLE_INCHES = 0.45
# A row is as high as its panels, its name and legend above them, and the steps below.
_PANEL_INCHES, _LEGEND_INCHES, _STEPS_INCHES = 2.4, 0.6, 0.55
_ROW_INCHES = _PANEL_INCHES + _LEGEND_INCHES + _STEPS_INCHES

# Okabe and Ito's palette, told apart by every kind of colour vision; yellow is too pale for a line.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
_INK = "#333333"
_PALE = "#999999"

_SCORES = ("accuracy", "f1")


def draw_curves(runs: dict[str, str | Path], title: str) -> bytes:
    """Draws the training curves and evaluation points of one or several runs.

    Every run is a row of its own, with its losses on the left, the learning rate thin behind them, and
    its scores (accuracy, F1) on the right. Lines are means over a log interval of training; points are
    evaluations.

    Args:
      runs: the name to show -> the run's folder, which holds a metrics.jsonl.
      title: the heading of the figure.

    Returns:
      The bytes of a PNG, 1200 pixels wide.

    Raises:
      ValueError: when there is no run, or a folder holds no metrics yet; it names the folder.
    """
    if not runs:
        raise ValueError("there is no run to draw; give at least one run folder.")
    lines_by_run = {name: _metric_lines(Path(folder)) for name, folder in runs.items()}

    # Late: matplotlib takes a while to load. Without pyplot, no global state and no display is touched.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = _TITLE_INCHES + _ROW_INCHES * len(runs)
    figure = Figure(figsize=(_WIDTH_INCHES, height), dpi=_DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    figure.text(
        0.012, 1 - 0.12 / height, _literal(title), fontsize=14, fontweight="bold", color=_INK, va="top"
    )
    rows = figure.subplots(len(runs), 2, squeeze=False)
    figure.subplots_adjust(
        left=0.05, right=0.985, wspace=0.3,
        top=1 - (_TITLE_INCHES + _LEGEND_INCHES) / height, bottom=_STEPS_INCHES / height,
        hspace=(_LEGEND_INCHES + _STEPS_INCHES) / _PANEL_INCHES,
    )  # fmt: skip
    for (name, lines), (losses, scores) in zip(lines_by_run.items(), rows, strict=True):
        _draw_panel(losses, lines, _names(lines, _is_loss), "loss", name)
        _draw_learning_rate(losses, lines)
        _draw_panel(scores, lines, _names(lines, _is_score), "score", "")
        scores.set_ylim(-0.02, 1.02)

    png = io.BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()


def _metric_lines(folder):
    metrics_file = folder / "metrics.jsonl"
    if not metrics_file.is_file():
        raise ValueError(f"{folder} holds no metrics.jsonl; give the --run_dir of a training.")
    lines = read_metrics(metrics_file)
    if not lines:
        raise ValueError(f"{metrics_file} holds no metrics yet; let its training reach a log interval.")
    return lines


def _is_loss(name):
    return name.endswith("loss")


def _is_score(name):
    return name.endswith(_SCORES) and not name.startswith("baseline")


def _names(lines, is_wanted):
    """The wanted metrics, in the order in which the run wrote them."""
    return list(dict.fromkeys(name for line in lines for name in line if is_wanted(name)))


def _draw_panel(axes, lines, names, label, title):
    _plain_axes(axes, label)
    axes.set_title(_literal(title), fontsize=11, color=_INK, loc="left", pad=26)
    has_evaluation = False
    for name, colour in zip(names, _COLOURS, strict=False):
        steps, values = _points(lines, name, is_training=True)
        # A run with a single log interval has a point, not a line.
        axes.plot(steps, values, color=colour, linewidth=1.8, label=_words(name),
                  marker="." if len(steps) < 3 else None)  # fmt: skip
        steps, values = _points(lines, name, is_training=False)
        has_evaluation |= bool(steps)
        axes.plot(steps, values, color=colour, linewidth=0.8, linestyle=":", marker="o", markersize=6,
                  markeredgecolor="white", clip_on=False, zorder=3)  # fmt: skip
    if has_evaluation:
        axes.plot([], [], color=_INK, linewidth=0.8, linestyle=":", marker="o", markersize=6,
                  markeredgecolor="white", label="evaluation")  # fmt: skip
    if names:
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(names) + 1, frameon=False,
            fontsize=9, labelcolor=_INK, borderaxespad=0.2, handlelength=1.6, columnspacing=1.1,
        )  # fmt: skip


def _draw_learning_rate(losses, lines):
    steps, rates = _points(lines, "learning_rate", is_training=True)
    if not steps:
        return
    axes = losses.twinx()
    # The losses lie in front, on a see-through ground.
    losses.set_zorder(axes.get_zorder() + 1)
    losses.patch.set_visible(False)
    axes.plot(steps, rates, color=_PALE, linewidth=0.7)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("learning rate", color=_PALE, fontsize=9)
    axes.tick_params(colors=_PALE, labelsize=8, length=0)
    axes.locator_params(axis="y", nbins=4)
    axes.yaxis.set_major_formatter("{x:g}")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _points(lines, name, is_training):
    chosen = [line for line in lines if name in line and (line["split"] == "train") == is_training]
    return [line["step"] for line in chosen], [line[name] for line in chosen]


def _plain_axes(axes, label):
    axes.set_xlabel("step", fontsize=9, color=_INK)
    axes.set_ylabel(label, fontsize=9, color=_INK)
    axes.tick_params(colors=_INK, labelsize=9, length=3)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_PALE)


def _words(name):
    """masked_lm_accuracy -> "masked LM accuracy"."""
    return name.replace("_", " ").replace(" lm ", " LM ").replace("f1", "F1")


def _literal(text):
    """Text as it stands: matplotlib would read what is between two dollar signs as a formula."""
    return text.replace("$", r"\$")
