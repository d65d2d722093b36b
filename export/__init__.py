"""A trained run directory, or a finished SavedModel folder, becomes something that answers."""
