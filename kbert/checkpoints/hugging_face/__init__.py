"""Hugging Face folders and names, sentence-transformers and PyTorch files."""
