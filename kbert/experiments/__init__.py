"""What the scripts do, as functions: trainings, evaluations and answers, each a short list of steps.

Between the engine below and the flags above. Nothing here loads TensorFlow before files and settings have
been looked at.
"""
