"""Hugging Face's BertForPreTraining, one training step at a time; see benchmarks/training_step.py.

Its masked-LM head works on all positions: labels of -100 leave the others out of the loss. As in its
Trainer: fused AdamW, autocast for bfloat16, scaled dot-product attention.
"""

import itertools
import math

import numpy as np
import torch
import transformers
from endless_batches import endless_batches
from hugging_face_adamw import adamw
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
torch.manual_seed(settings["seed"])
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    turns.peak_megabytes = lambda: torch.cuda.max_memory_allocated() / 1e6

model = transformers.BertForPreTraining.from_pretrained(settings["hugging_face_folder"]).to(device)
model.train()
compute = torch.compile(model) if "compile" in settings["options"] else model
adam = settings["optimizer"]
optimizer = adamw(model, adam)
steps, warmup = itertools.count(), settings["num_warmup_steps"]


def as_tensors(batch):
    positions, weights = batch["masked_lm_positions"], batch["masked_lm_weights"]
    labels = np.full(batch["input_ids"].shape, -100, np.int64)
    rows = np.broadcast_to(np.arange(len(labels))[:, None], positions.shape)
    labels[rows[weights > 0], positions[weights > 0]] = batch["masked_lm_ids"][weights > 0]
    arrays = {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["input_mask"],
        "token_type_ids": batch["segment_ids"],
        "labels": labels,
        "next_sentence_label": batch["next_sentence_labels"][:, 0],
    }
    return {name: torch.tensor(array, dtype=torch.int64, device=device) for name, array in arrays.items()}


def masked_lm_loss(outputs, batch):
    """The model itself returns only its sum with the loss of next sentence."""
    next_sentence = torch.nn.functional.cross_entropy(
        outputs.seq_relationship_logits.detach().float(), batch["next_sentence_label"]
    )
    return float(outputs.loss.detach()) - float(next_sentence)


def train_step():
    for _ in range(settings.get("updates_per_step", 1)):
        batch, outputs = update()
    return {"masked_lm_loss": masked_lm_loss(outputs, batch)}


def update():
    batch, step = next(batches), next(steps)
    for group in optimizer.param_groups:
        group["lr"] = adam["learning_rate"] * min(1.0, step / warmup if warmup else 1.0)
        # TensorFlow's Adam adds epsilon before the bias correction of the second moment, PyTorch's after.
        group["eps"] = adam["epsilon"] / math.sqrt(1 - adam["beta_2"] ** (step + 1))
    with torch.autocast(device, torch.bfloat16, enabled=settings["precision"] == "bfloat16"):
        outputs = compute(**batch)
    outputs.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), adam["global_clipnorm"])
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return batch, outputs


batches = endless_batches(settings["batches"], as_tensors)
turns.ready(torch=torch.__version__, transformers=transformers.__version__)
turns.take_steps(train_step)
