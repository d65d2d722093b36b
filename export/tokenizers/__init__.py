"""The tokenizer without TensorFlow, in Python and Kotlin. See docs/tokenizers.md."""
