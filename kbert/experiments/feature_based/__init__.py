"""The comparison of the BERT paper's table 7: one tagger for each choice of the frozen encoder's layers."""
