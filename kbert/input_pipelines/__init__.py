"""Records and texts -> batches for training and evaluation, under the names of kbert/features.py."""
