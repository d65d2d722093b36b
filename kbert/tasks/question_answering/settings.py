"""What `[task_settings]` of a config may say for question answering."""

import math
from dataclasses import dataclass
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checks import CheckedSettings, require

PREDICTION_FILES = ("predictions.json", "nbest_predictions.json", "null_odds.json")  # as run_squad.py writes
_Count = Annotated[int, Bounds(1, 1 << 20)]


@dataclass(frozen=True)
class QuestionAnsweringSettings(CheckedSettings):
    """How texts are cut into windows, and how answers are chosen.

    `unanswerable` is SQuAD v2.0: a question may have no answer, and the answer is "" where the score of no
    answer exceeds the best answer's by more than `null_score_diff_threshold`. `doc_stride` is how many tokens
    further each window begins (a step, not an overlap), by default 128, or a third of `max_seq_length` where
    that is more. `max_query_length` are the tokens after which a question is cut, `max_answer_length` the
    most tokens of an answer, and `n_best_size` is how many answers nbest_predictions.json lists.

    Defaults: google-research/bert, run_squad.py.
    """

    unanswerable: bool = False
    doc_stride: _Count | None = None
    max_query_length: _Count = 64
    max_answer_length: _Count = 30
    n_best_size: _Count = 20
    null_score_diff_threshold: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        threshold = self.null_score_diff_threshold
        require(math.isfinite(threshold), f"null_score_diff_threshold={threshold} must be a finite number.")
