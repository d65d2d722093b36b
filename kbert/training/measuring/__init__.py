"""What a training is watched with: progress, speed, arithmetic, memory."""
