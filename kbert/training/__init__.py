"""The training engine: optimizers, strategies, the training step, the loop, and its measurements."""
