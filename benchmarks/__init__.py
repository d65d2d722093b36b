"""kbert beside its peers, one command a benchmark, no network.

The rules are the same everywhere:

- The same work: every contestant gets the same inputs, ready in memory, and must hand back the same kind
  of result. Where results differ, the table says how often.
- The same means: the number of threads is set for all of them and stands in the table; every setting is
  measured in a process of its own, because thread pools are sized once.
- Alternating: one run of each contestant after the other, so that a busy machine is busy for all; each
  runs once before anything is timed.
- Medians, with the slowest and the fastest run beside them.

Every benchmark prints a readable table and ends with one JSON line that has the keys "benchmark", "kbert",
"peers" and "ratio": what kbert reached, what each peer reached, and kbert's share of the peer named in
"ratio_to". The numbers are those of the machine it ran on.
"""
