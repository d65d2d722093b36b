"""The tokenizer without TensorFlow: Python and Kotlin; JavaScript for the server. See docs/tokenizers.md."""
