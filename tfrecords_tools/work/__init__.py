"""Runs many items of work on all cores or on a cluster, and reports their progress."""
