"""What a task puts on top of the encoder: tensors in, logits out."""
