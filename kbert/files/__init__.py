"""Reading and writing of files: all or nothing, JSON, TOML, safetensors, compressed text, folder locks."""
