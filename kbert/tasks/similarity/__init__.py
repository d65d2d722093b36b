"""Sentence similarity: texts -> embeddings whose cosine says how alike the texts are."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
