"""Benchmarks of kbert beside its peers: one command per benchmark, no network.

The rules of a comparison:

- The same work: every contestant gets the same inputs and must return the same kind of result. Where results
  differ, the table says how often.
- The same resources: the number of threads or cores is set for all contestants, and is printed. Every setting
  is measured in its own process, because thread pools are sized once.
- Alternating: the contestants run in turn, so that other load on the machine affects all of them. Where steps
  or calls are timed, each contestant first runs some that are not timed; whole processes have no warm-up.
- Medians, usually with the slowest and the fastest run beside them.

Every benchmark prints a readable table and ends with one JSON line (benchmarks/figures/closing_line.py): its
name, date, machine, commit, command, and its figures. Where these are rows of one table, `--figures_file`
appends the line to a file of docs/figures/, from which `python -m benchmarks.figures.write_tables` writes
the tables of the pages. Those of tokenization, vocabulary, training_step, finetuning, loss_curve and
time_to_quality also have "kbert", "peers" and "ratio": what kbert reached, what each peer reached, and
kbert's speed as a multiple of the peer named in "ratio_to" (the last two define their own ratio).
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
