"""Retrieval: a collection of queries, texts and judgments; search, its scores, and texts to train on."""
