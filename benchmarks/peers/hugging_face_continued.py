"""Hugging Face's masked LM, trained on for so many minutes; benchmarks/domain.sh calls it.

  python hugging_face_continued.py FOLDER BATCHES.npz MINUTES LEARNING_RATE OUTPUT_FOLDER

It reads the batches that kbert gets, and has kbert's numbers: AdamW, clipping to 1, and a learning rate that
follows the clock (6% of the time warm-up, then linear to 0). As in its Trainer: fused AdamW, autocast to
bfloat16, scaled dot-product attention, logits of all positions.
"""

import sys
import time

import numpy as np
import torch
import transformers
from endless_batches import endless_batches
from hugging_face_adamw import adamw

_THREADS, _WARM_UP = 2, 0.06
_ADAM = {"weight_decay": 0.01, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-6}


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
    }
    return {name: torch.tensor(array, dtype=torch.int64) for name, array in arrays.items()}


def train(model, batches, minutes: float, learning_rate: float):
    optimizer, losses = adamw(model, _ADAM | {"learning_rate": learning_rate}), []
    start = time.monotonic()
    while (used := (time.monotonic() - start) / (minutes * 60)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(used / _WARM_UP, (1 - used) / (1 - _WARM_UP))
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(**next(batches)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
    print(f"{len(losses):,} steps, masked_lm_loss of the last 200: {np.mean(losses[-200:]):.3f}")


folder, batches_file, minutes, learning_rate, output = sys.argv[1:]
torch.set_num_threads(_THREADS)
torch.manual_seed(1)
model = transformers.BertForMaskedLM.from_pretrained(folder).train()
train(model, endless_batches(batches_file, as_tensors), float(minutes), float(learning_rate))
model.save_pretrained(output)
transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(output)
