"""What a task puts on top of the encoder: tensors in, logits out."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
