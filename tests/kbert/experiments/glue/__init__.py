"""GLUE as a whole, on small files in its official forms."""
