"""Reports for people: HTML pages from templates and plain data, their pictures, tables for a terminal."""
