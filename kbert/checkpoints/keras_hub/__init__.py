"""KerasHub's presets."""
