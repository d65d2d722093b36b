"""What `[task_settings]` of a config may say for tasks on a text or a pair."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kbert.bounds import Bounds
from kbert.checks import CheckedSettings, Share, require
from kbert.files.json_values import shown
from kbert.tasks.label_losses import LabelLossSettings
from kbert.tasks.temperature import CalibrationSettings
from kbert.tasks.thresholds import ThresholdMetric, check_threshold

LongTexts = Literal["cut", "head_tail", "windows"]
WindowPooling = Literal["mean", "max", "vote"]
NumberLoss = Literal["squared_error", "binary_cross_entropy"]
CUT, HEAD_TAIL, WINDOWS = get_args(LongTexts)
MEAN, MAX, VOTE = get_args(WindowPooling)
SQUARED_ERROR, BINARY_CROSS_ENTROPY = get_args(NumberLoss)


@dataclass(frozen=True)
class LongTextSettings(CheckedSettings):
    """What becomes of a text that is too long for `max_seq_length`.

    `long_texts`: "cut" at the end; "head_tail", the beginning and the end are kept; "windows", it becomes
    several rows, and their answers are pooled by `window_pooling`, see `pool_windows`. `doc_stride` is how
    many tokens further each window begins; by default half of what a window holds.
    """

    long_texts: LongTexts = CUT
    doc_stride: Annotated[int, Bounds(above=0)] | None = None
    window_pooling: WindowPooling = MEAN

    def __post_init__(self):
        super().__post_init__()
        require(
            self.in_windows or (self.doc_stride is None and self.window_pooling == MEAN),
            f'doc_stride and window_pooling are for long_texts="{WINDOWS}", but it is "{self.long_texts}".',
        )

    @property
    def in_windows(self) -> bool:
        return self.long_texts == WINDOWS


@dataclass(frozen=True)
class NumberSettings(LongTextSettings):
    """Of a task that gives a number, with those of `LongTextSettings`.

    `loss` is "squared_error", or "binary_cross_entropy" for numbers from 0 to 1, such as how relevant a text
    is for a query. By default it is the second where rows have negatives, and where the checkpoint makes its
    score by a sigmoid; otherwise the first.
    """

    loss: NumberLoss | None = None


@dataclass(frozen=True)
class LabelSettings(LongTextSettings, CalibrationSettings, LabelLossSettings):
    """Of all tasks on labels."""


@dataclass(frozen=True)
class OneLabelSettings(LabelSettings):
    """Of a task that gives one label, with those of `LabelLossSettings`, `CalibrationSettings` and
    `LongTextSettings`.

    `threshold` is for two labels: the positive one is given where its probability is at least this. Without
    it the more probable label is given. `threshold_metric` is the score by which an evaluation chooses a
    threshold: "f1" of the positive label, or "accuracy".
    """

    threshold: Share | None = None
    threshold_metric: ThresholdMetric = "f1"

    def check_labels(self, labels):
        super().check_labels(labels)
        require(
            self.threshold is None or len(labels) == 2,
            f"threshold={self.threshold} is for two labels; there are {len(labels)}: leave it out.",
        )
        require(
            self.threshold_metric == "f1" or len(labels) == 2,
            f'threshold_metric="{self.threshold_metric}" is for two labels; there are {len(labels)}: leave '
            "it out.",
        )


@dataclass(frozen=True)
class SeveralLabelsSettings(LabelSettings):
    """Of a task that gives any number of labels, with those of `LabelLossSettings`, `CalibrationSettings`
    and `LongTextSettings`.

    `thresholds` is a table label -> the probability from which the label is given; 0.5 for a label that is
    left out.
    """

    thresholds: dict | None = None

    def __post_init__(self):
        super().__post_init__()
        for label, value in (self.thresholds or {}).items():
            check_threshold(f"thresholds.{label}", value)

    def check_labels(self, labels):
        super().check_labels(labels)
        strange = [label for label in self.thresholds or {} if label not in labels]
        require(
            not strange,
            f"thresholds: no label is {shown(strange)}; the labels are {shown(list(labels))}.",
        )
