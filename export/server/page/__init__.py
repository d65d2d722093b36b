"""The page to try the served models: what it is told of them, and its files: HTML, CSS and plain JavaScript."""
