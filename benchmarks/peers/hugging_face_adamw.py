"""AdamW as Hugging Face's Trainer makes it: fused, without decay of biases and norms."""

import torch


def adamw(model, numbers):
    """The optimizer of all weights of a model; `numbers` as benchmarks/workers/adamw.py gives them."""
    decayed, others = [], []
    for name, parameter in model.named_parameters():
        (others if "bias" in name or "LayerNorm" in name else decayed).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": numbers["weight_decay"]},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=numbers["learning_rate"],
        betas=(numbers["beta_1"], numbers["beta_2"]),
        eps=numbers["epsilon"],
        fused=True,
    )
