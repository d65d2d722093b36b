"""Text to pieces to inputs, in the graph, equal to the original BERT's rules id for id."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
