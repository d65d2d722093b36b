"""The run directory and its files, which training writes and everything after it reads."""
