"""Exports trained runs (SavedModel, LiteRT), and serves and queries SavedModels."""

from kbert import interrupt

# `python -m` imports this file first. So Ctrl-C ends the process in one line even while imports run.
if interrupt.is_script_starting():
    interrupt.end_at_interrupt()
