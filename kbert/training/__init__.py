"""The training engine: optimizers, strategies, the training step, the loop, and its measurements."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
