"""Models that only answer: copies of trained ones, as a graph of few and large ops over real tokens."""
