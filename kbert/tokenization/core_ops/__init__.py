"""Tokenizing with ops of TensorFlow's core alone, where TF-Text is not there or not wanted."""
