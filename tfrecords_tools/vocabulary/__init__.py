"""Words and their counts -> WordPieces."""
