"""What an export must pass before it gets its name: known ops, and the session loader."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
