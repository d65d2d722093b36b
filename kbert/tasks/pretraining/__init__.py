"""The pretraining objectives, and what their models answer: words for masks, and whether texts follow."""

from kbert.tasks.pretraining.next_sentence import NextSentence
from kbert.tasks.pretraining.objectives import MaskedLM, Pretraining, SentenceOrder, recorded_objective

__all__ = ["MaskedLM", "NextSentence", "Pretraining", "SentenceOrder", "recorded_objective"]
