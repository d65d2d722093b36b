"""The work of the scripts as functions: pretraining, fine-tuning, evaluation and prediction.

The scripts call these functions with their flags; the functions call kbert.training and kbert.inference. They
check files and settings as far as possible before they load TensorFlow.
"""
