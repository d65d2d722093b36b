"""Folders of TFRecords: opens, checks, divides between workers, and reads them."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
