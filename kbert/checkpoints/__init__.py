"""Reads and writes BERT checkpoints: Google TF1, Hugging Face, KerasHub, kbert's own runs.

`formats.read_checkpoint` reads any of them into a `BertCheckpoint`, `formats.write_checkpoint` writes one,
and `model_loading.build_model` turns it into a Keras model. The settings of sentence-transformers folders are
read as well. docs/checkpoints.md has the tables of names and the comparisons.
"""
