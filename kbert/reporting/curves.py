"""metrics.jsonl -> a picture of the training: losses and scores by step, one row for each run."""

import io
from pathlib import Path

from kbert.reporting.run_metrics import RunMetrics, is_loss, is_score, words

_WIDTH_INCHES = 12
_DOTS_PER_INCH = 100
_TITLE_INCHES = 0.45
# The height of a row: its panels, the name and legend above them, and the steps below.
_PANEL_INCHES, _LEGEND_INCHES, _STEPS_INCHES = 2.4, 0.6, 0.55
_ROW_INCHES = _PANEL_INCHES + _LEGEND_INCHES + _STEPS_INCHES

# Okabe and Ito's palette, which people with any colour vision can tell apart; without yellow (too pale).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
_INK = "#333333"
_PALE = "#999999"


def draw_curves(runs: dict[str, str | Path], title: str) -> bytes:
    """Draws the training curves and evaluation points of one or several runs.

    Every run is one row. Its losses are on the left, with the learning rate as a thin line behind them; its
    scores (accuracy, F1) are on the right. Lines are means over a log interval of training; points are
    evaluations.

    Args:
      runs: the name to show -> the run's folder, which holds a metrics.jsonl.
      title: the heading of the figure.

    Returns:
      The bytes of a PNG, 1200 pixels wide.

    Raises:
      ValueError: when there is no run, or a folder holds no metrics yet; the message names the folder.
    """
    if not runs:
        raise ValueError("there is no run to draw; give at least one run folder.")
    read = [RunMetrics.read(folder, name) for name, folder in runs.items()]

    # Imported here because matplotlib loads slowly. Without pyplot there is no global state and no display.
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
    for run, (losses, scores) in zip(read, rows, strict=True):
        _draw_panel(losses, run, run.names(is_loss), "loss", run.name)
        _draw_learning_rate(losses, run)
        _draw_panel(scores, run, run.names(is_score), "score", "")
        scores.set_ylim(-0.02, 1.02)

    png = io.BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()


def _draw_panel(axes, run, names, label, title):
    _plain_axes(axes, label)
    axes.set_title(_literal(title), fontsize=11, color=_INK, loc="left", pad=26)
    has_evaluation = False
    for name, colour in zip(names, _COLOURS, strict=False):
        steps, values = run.training(name)
        # With only one or two log intervals a line would hardly be visible, so points are drawn too.
        axes.plot(steps, values, color=colour, linewidth=1.8, label=words(name),
                  marker="." if len(steps) < 3 else None)  # fmt: skip
        steps, values = run.evaluations(name)
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


def _draw_learning_rate(losses, run):
    steps, rates = run.training("learning_rate")
    if not steps:
        return
    axes = losses.twinx()
    # The losses are drawn in front, on a transparent background.
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


def _plain_axes(axes, label):
    axes.set_xlabel("step", fontsize=9, color=_INK)
    axes.set_ylabel(label, fontsize=9, color=_INK)
    axes.tick_params(colors=_INK, labelsize=9, length=3)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_PALE)


def _literal(text):
    """Escapes dollar signs: matplotlib reads text between two of them as a formula."""
    return text.replace("$", r"\$")
