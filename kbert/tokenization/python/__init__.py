"""The tokenizer in Python and NumPy, without TensorFlow: the same ids as the graph's."""
