"""The tokenizer without TensorFlow: Python, JavaScript, Kotlin and Swift. docs/tokenizers.md has the rest."""
