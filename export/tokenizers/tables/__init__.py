"""What the graph does with each character, asked of the graph itself and written down for other languages."""
