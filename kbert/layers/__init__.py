"""The encoder's layers, one per file. They receive plain numbers, never a config, and use keras.ops."""
