"""The processes that take part in a benchmark: their environments, their first weights, their turns."""
