"""Training on one device, several devices or several machines: strategies, workers, XLA."""
