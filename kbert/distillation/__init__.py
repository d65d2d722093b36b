"""A frozen teacher beside the model that is trained: any task, one wrapper (docs/distillation.md)."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
