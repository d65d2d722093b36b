"""Exports trained runs (SavedModel, LiteRT), and serves and queries SavedModels."""
