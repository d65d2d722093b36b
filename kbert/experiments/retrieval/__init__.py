"""Retrieval: a collection of queries, texts and judgments; search, its scores, and texts to train on."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
