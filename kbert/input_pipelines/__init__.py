"""Records and texts -> batches for training and evaluation; kbert/features.py names the features."""
