"""The scripts of the command line: each defines absl flags and makes one call."""

from kbert import interrupt

# `python -m` imports this file before every other file of kbert, and before the script reads its flags.
if interrupt.is_script_starting():
    interrupt.end_at_interrupt()
