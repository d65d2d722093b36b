"""The quickstart: kbert's own commands from raw text to answers, what they measured, and its report.

Like the scripts, it stands on top of everything, the exporters included; nobody imports it but its script.
"""
