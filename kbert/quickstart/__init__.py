"""The quickstart: runs kbert's own commands from raw text to answers, measures them, and writes a report.

Like the scripts, it may use every other package, including the exporters. Only its script imports it.
"""
