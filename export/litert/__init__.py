"""LiteRT files: how they are made, asked, checked and reported on."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
