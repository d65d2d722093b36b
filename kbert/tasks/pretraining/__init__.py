"""The pretraining objectives, and what their models answer: words for masks, and whether texts follow."""

from kbert.tasks.pretraining.next_sentence import NextSentence
from kbert.tasks.pretraining.objectives import MaskedLM, Pretraining, SentenceOrder, recorded_objective
from kbert.tasks.pretraining.replaced_token_detection import ReplacedTokenDetection

__all__ = [
    "MaskedLM",
    "NextSentence",
    "Pretraining",
    "ReplacedTokenDetection",
    "SentenceOrder",
    "recorded_objective",
]
