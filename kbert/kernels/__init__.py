"""Element-wise work of training, each piece as one pass over memory forward and one backward."""
