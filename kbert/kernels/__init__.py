"""Element-wise operations of training, each as one pass over memory forward and one backward."""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
