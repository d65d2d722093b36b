"""The command `kbert`, and what its scripts share: how they start, what they say, how they end."""
