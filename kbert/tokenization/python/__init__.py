"""The tokenizer in Python and NumPy, without TensorFlow: the same ids as the graph's."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
