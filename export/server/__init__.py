"""A small server for one model: REST for people's clients, TensorFlow Serving's Predict, a page to try it."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
