"""Late interaction: a vector for each token of a text, compared token by token (ColBERT)."""
