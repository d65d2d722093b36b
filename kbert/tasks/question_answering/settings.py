"""What `[task_settings]` of a config may say for question answering."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionAnsweringSettings:
    """How texts are cut into windows, and how answers are chosen.

    Defaults: google-research/bert, run_squad.py.

    Args:
      unanswerable: SQuAD v2.0: a question may have no answer; the answer is then "".
      doc_stride: how many pieces further each window begins (a step, not an overlap).
      max_query_length: the pieces after which a question is cut.
      max_answer_length: the most pieces of an answer.
      n_best_size: how many answers nbest_predictions.json lists.
      null_score_diff_threshold: the answer is "" where the score of no answer exceeds the best answer's by
        more than this.
      reproduce_run_squad: evaluations choose and write answers as the original script does, with its
        realignment, but never count padding among the best starts and ends; served answers are always the
        characters of the text.
    """

    unanswerable: bool = False
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    n_best_size: int = 20
    null_score_diff_threshold: float = 0.0
    reproduce_run_squad: bool = False

    def __post_init__(self):
        for name in ("doc_stride", "max_query_length", "max_answer_length", "n_best_size"):
            if not 1 <= getattr(self, name) <= 1 << 20:
                raise ValueError(f"{name}={getattr(self, name)} must lie between 1 and {1 << 20}.")
        if not math.isfinite(self.null_score_diff_threshold):
            raise ValueError(
                f"null_score_diff_threshold={self.null_score_diff_threshold} must be a finite number."
            )
