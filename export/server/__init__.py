"""The development server: the two APIs in front of SavedModels."""
