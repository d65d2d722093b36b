"""Records and texts -> batches for training and evaluation; kbert/features.py names the features."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
