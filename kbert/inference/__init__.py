"""A run directory -> answers to texts, in Python."""
