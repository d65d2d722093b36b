"""Reads and writes BERT checkpoints: Google TF1, Hugging Face, KerasHub, kbert's own runs.

`formats.read_checkpoint` reads any of them into a `BertCheckpoint`, `formats.write_checkpoint` writes one,
and `model_loading.build_model` turns it into a Keras model. docs/checkpoints.md says what loads and
has the comparisons; `conversion.names` has the tables of names.
"""

# The formats. Those in FORMATS are written too.
KBERT = "kbert"
GOOGLE = "google"
HUGGING_FACE = "hugging_face"
KERAS_HUB = "keras_hub"
MODEL_GARDEN = "model_garden"  # and TF Hub
FORMATS = (KBERT, GOOGLE, HUGGING_FACE, KERAS_HUB)
