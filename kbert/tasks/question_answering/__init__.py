"""Questions about texts, answered by a span of the text: SQuAD v1.1 and v2.0."""
