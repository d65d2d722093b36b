"""Inference in Python: loads a run or a checkpoint, and answers texts with it."""
