"""A small server for one model: REST for people's clients, TensorFlow Serving's Predict, a page to try it."""
