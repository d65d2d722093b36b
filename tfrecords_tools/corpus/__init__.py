"""Corpus files -> documents of lines -> documents of pieces."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
