"""Figures of the pages: what benchmarks measured, as lines of JSON, and the tables that are written of them.

`python -m benchmarks.figures.write_tables` writes the tables. A benchmark with `--figures_file` appends its
line to a file of docs/figures/; the last line of a file is what the tables show, the lines before it are the
history.
"""
