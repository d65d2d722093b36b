"""Hugging Face's BertForPreTraining, one training step at a time; see benchmarks/training_step.py.

Its masked-LM head works on all positions: labels of -100 leave the others out of the loss. As in its
Trainer: fused AdamW, autocast for bfloat16, scaled dot-product attention.
"""

import math
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
torch.manual_seed(settings["seed"])

model = transformers.BertForPreTraining.from_pretrained(settings["hugging_face_folder"])
model.train()
compute = torch.compile(model) if settings.get("compile") else model
adam = settings["optimizer"]
no_decay = ("bias", "LayerNorm")
decayed = [p for name, p in model.named_parameters() if not any(part in name for part in no_decay)]
others = [p for name, p in model.named_parameters() if any(part in name for part in no_decay)]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": adam["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
    betas=(adam["beta_1"], adam["beta_2"]),
    fused=True,
)


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
    return {name: torch.tensor(array, dtype=torch.int64) for name, array in arrays.items()}


def losses(outputs, batch):
    """Masked-LM and next-sentence loss, separated by the logits; the model itself returns only their sum."""
    next_sentence = torch.nn.functional.cross_entropy(
        outputs.seq_relationship_logits.detach().float(), batch["next_sentence_label"]
    )
    return float(outputs.loss.detach()) - float(next_sentence), float(next_sentence)


def train_step(batch, step):
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step)
        # TensorFlow's Adam adds epsilon before the bias correction of the second moment, PyTorch's after.
        group["eps"] = adam["epsilon"] / math.sqrt(1 - adam["beta_2"] ** (step + 1))
    with torch.autocast("cpu", torch.bfloat16, enabled=settings["precision"] == "bfloat16"):
        outputs = compute(**batch)
    outputs.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), adam["global_clipnorm"])
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return losses(outputs, batch)


def learning_rate(step):
    """google-research/bert, optimization.py, `create_optimizer`."""
    warmup, last = settings["num_warmup_steps"], settings["num_train_steps"]
    if step < warmup:
        return adam["learning_rate"] * step / warmup
    return adam["learning_rate"] * max(0.0, 1 - step / last)


with np.load(settings["batches"]) as file:
    arrays = dict(file)  # read once: the file decodes a whole array at every access
batches = [
    as_tensors({name: arrays[name][index] for name in arrays}) for index in range(len(arrays["input_ids"]))
]


def save(folder):
    """Writes the model, and the vocabulary that it was given."""
    model.save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(Path(settings["hugging_face_folder"], name), folder)


turns.save = save
turns.ready(torch=torch.__version__, transformers=transformers.__version__)
step = 0
while turns.next_step():
    masked_lm, next_sentence = train_step(batches[step % len(batches)], step)
    turns.report(masked_lm_loss=masked_lm, next_sentence_loss=next_sentence)
    step += 1
