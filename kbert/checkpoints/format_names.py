"""The names of the formats that checkpoints are read from and written in. No NumPy: `--help` needs them."""

KBERT = "kbert"
GOOGLE = "google"
HUGGING_FACE = "hugging_face"
KERAS_HUB = "keras_hub"
FORMATS = (KBERT, GOOGLE, HUGGING_FACE, KERAS_HUB)
