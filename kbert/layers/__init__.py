"""The encoder's layers, one per file. They receive plain numbers, never a config, and use keras.ops."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
