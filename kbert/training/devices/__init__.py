"""Training on one device, several devices or several machines: strategies, workers, XLA."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
