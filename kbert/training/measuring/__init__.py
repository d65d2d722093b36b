"""How a run is watched: progress, speed, arithmetic."""
