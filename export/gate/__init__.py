"""What an export must pass before it gets its name: known ops, and the session loader."""
