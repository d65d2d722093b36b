"""Files at the bottom of everything: whole or absent, JSON, safetensors, and one process to a folder."""
