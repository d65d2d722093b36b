"""The page of a model's attention to a text."""
