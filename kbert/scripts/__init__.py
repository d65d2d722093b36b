"""The command line: absl flags, then one call."""
