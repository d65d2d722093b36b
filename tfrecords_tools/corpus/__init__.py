"""Corpus files -> documents of lines -> documents of pieces."""
