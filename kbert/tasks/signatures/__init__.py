"""How models are asked: signatures that take texts, token ids and tf.Examples."""
