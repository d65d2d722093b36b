"""Every BERT checkpoint in, every BERT checkpoint out: Google TF1, Hugging Face, KerasHub,
sentence-transformers, kbert's own runs.

`formats.read_checkpoint` reads any of them into a `BertCheckpoint`, `formats.write_checkpoint` writes one,
`model_loading.build_model` makes it a Keras model. docs/checkpoints.md tells the names and the numbers.
"""
