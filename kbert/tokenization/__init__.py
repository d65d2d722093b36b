"""Text to pieces to inputs, in the graph, equal to the original BERT's rules id for id."""
