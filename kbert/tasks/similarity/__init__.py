"""Sentence similarity: texts -> embeddings whose cosine says how alike the texts are."""
