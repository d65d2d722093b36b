"""Element-wise operations of training, each as one pass over memory forward and one backward."""
