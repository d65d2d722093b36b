"""Features -> TFRecords, and TFRecords -> what a person reads."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
