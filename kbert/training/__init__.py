"""The training engine: optimizer, strategies, the step, the loop, and what a run leaves behind."""
