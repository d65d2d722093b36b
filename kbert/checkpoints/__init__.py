"""Reads and writes BERT checkpoints: Google TF1, Hugging Face, KerasHub, kbert's own runs.

`formats.read_checkpoint` reads any of them into a `BertCheckpoint`, `formats.write_checkpoint` writes one,
and `model_loading.build_model` turns it into a Keras model. docs/checkpoints.md says what loads and
has the comparisons; `conversion.names` has the tables of names.
"""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)

from typing import Final, Literal, get_args

# The formats. Those in FORMATS are written too.
KBERT: Final = "kbert"
GOOGLE: Final = "google"
HUGGING_FACE: Final = "hugging_face"
KERAS_HUB: Final = "keras_hub"
MODEL_GARDEN = "model_garden"  # and TF Hub
TF_HUB = "tf_hub"  # what a report calls the latter
Format = Literal["kbert", "google", "hugging_face", "keras_hub"]
FORMATS = get_args(Format)
