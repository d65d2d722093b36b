"""The page of an evaluation: what a task shows of its answers, drawn as HTML."""
