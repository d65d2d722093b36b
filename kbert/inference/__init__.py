"""Inference in Python: loads a run or a checkpoint, and answers texts with it."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
