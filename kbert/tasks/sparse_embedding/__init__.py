"""Sparse vectors of texts: a weight for each piece of the vocabulary (SPLADE)."""
