"""The encoder's layers, one to a file. They receive plain numbers, never a config, and speak keras.ops."""
