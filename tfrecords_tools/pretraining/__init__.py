"""Documents of pieces -> masked examples: the settings, the three stages, and what they leave on disk."""
