"""Reports for people: HTML pages from templates and plain data, their pictures, tables for a terminal."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
