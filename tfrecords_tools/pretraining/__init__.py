"""Documents of pieces -> masked examples: the settings, the three stages, and what they leave on disk."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
