"""A small student of a teacher, as a file for phones: what is asked for, the steps, the report."""
