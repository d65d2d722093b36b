"""Benchmarks of kbert beside its peers: one command per benchmark, no network.

The rules of a comparison:

- The same work: every contestant gets the same inputs and must return the same kind of result. Where results
  differ, the table says how often.
- The same resources: the number of threads or cores is set for all contestants, and is printed. Every setting
  is measured in its own process, because thread pools are sized once.
- Alternating: the contestants run in turn, so that other load on the machine affects all of them. Where steps
  or calls are timed, each contestant first runs some that are not timed; whole processes have no warm-up.
- Medians, usually with the slowest and the fastest run beside them.
- The best of the best: a closing sentence sets kbert's best configuration beside that of the best peer.

Every benchmark prints a readable table and ends with one JSON line (benchmarks/report.py): its name, date,
commit, machine, command, and its figures. The tables of the pages are typed in from it. A contestant is
called "hugging_face/bfloat16+compile", and its worker is `benchmarks/peers/hugging_face_KIND.py`; those of
kbert are in benchmarks/workers.
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
