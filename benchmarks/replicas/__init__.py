"""What benchmarks/scaling.py is made of: groups of processes, a table, a model on paper."""
