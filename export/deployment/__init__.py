"""What a server needs beside the model: requests to warm up with, settings, a card, files for containers."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
