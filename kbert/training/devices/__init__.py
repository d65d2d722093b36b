"""One device, several, several machines: strategies, workers, XLA."""
