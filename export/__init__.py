"""Exports trained runs (SavedModel, LiteRT), and serves and queries SavedModels."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
