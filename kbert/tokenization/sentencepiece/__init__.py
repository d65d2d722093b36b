"""Models of SentencePiece, as XLM-R has them."""
