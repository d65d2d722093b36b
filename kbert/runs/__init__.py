"""The run directory and its files, which training writes and everything after it reads."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
