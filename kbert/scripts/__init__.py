"""The scripts of the command line: each defines absl flags and makes one call."""
