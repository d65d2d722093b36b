"""What the readers and writers of all other formats share: names, keys, shapes and checks."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
