"""A frozen teacher beside the model that is trained: any task, one wrapper (docs/distillation.md)."""
