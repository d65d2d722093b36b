"""Tasks that answer for a whole text, a pair of texts, or a text and its choices."""
