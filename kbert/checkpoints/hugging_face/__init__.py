"""Hugging Face folders and names, sentence-transformers and PyTorch files."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
