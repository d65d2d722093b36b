"""The names of the files that exports write beside their models, for those that write and read them."""

EXTRA_FOLDER = "assets.extra"  # of a SavedModel: what servers leave alone, but for the warm-up requests
ABOUT_FILE = "kbert.json"  # task, labels, casing and what was measured, for programs
VOCABULARY_FILE = "vocab.txt"
WARMUP_FILE = "tf_serving_warmup_requests"  # TensorFlow Serving, docs/saved_model_warmup
