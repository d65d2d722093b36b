"""The page to try the served models: its files (HTML, CSS, plain JavaScript), and what it is told of them."""
