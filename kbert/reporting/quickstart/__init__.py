"""The report of the quickstart: an HTML page, and a table for the terminal."""
