"""The names of the formats that checkpoints are read from; FORMATS are written too. Quick, for `--help`."""

KBERT = "kbert"
GOOGLE = "google"
HUGGING_FACE = "hugging_face"
KERAS_HUB = "keras_hub"
MODEL_GARDEN = "model_garden"  # and TF Hub; read alone
FORMATS = (KBERT, GOOGLE, HUGGING_FACE, KERAS_HUB)
