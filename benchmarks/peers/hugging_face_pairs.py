"""sentence-transformers' MultipleNegativesRankingLoss on pairs of texts, for so many minutes; for domain.sh.

  python hugging_face_pairs.py FOLDER PAIRS.tsv MINUTES OUTPUT_FOLDER

The numbers are those of configs/finetuning/neighbours.toml: batches of 64, 64 tokens, AdamW, clipping to 1, a
learning rate that follows the clock (6% of the time warm-up, then linear to 0). Fused AdamW and autocast to
bfloat16, as sentence-transformers' own trainer has them.
"""

import random
import sys
import time

import numpy as np
import torch
from hugging_face_adamw import adamw
from sentence_transformers import SentenceTransformer
from sentence_transformers.losses import MultipleNegativesRankingLoss

_THREADS, _BATCH_SIZE, _SEQ_LENGTH, _SCALE, _WARM_UP = 2, 64, 64, 20.0, 0.06
_ADAM = {"learning_rate": 1e-4, "weight_decay": 0.01, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-6}


def endless_pairs(path, seed=1):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    random_generator = random.Random(seed)
    while True:
        random_generator.shuffle(rows)
        for start in range(0, len(rows) - _BATCH_SIZE + 1, _BATCH_SIZE):
            yield list(zip(*rows[start : start + _BATCH_SIZE], strict=True))


def train(model, batches, seconds: float):
    loss_of, losses = MultipleNegativesRankingLoss(model, scale=_SCALE), []
    optimizer, start = adamw(model, _ADAM), time.monotonic()
    while (used := (time.monotonic() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = _ADAM["learning_rate"] * min(used / _WARM_UP, (1 - used) / (1 - _WARM_UP))
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of([model.tokenize(list(texts)) for texts in next(batches)], None)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
    print(f"{len(losses):,} steps, loss of the last 50: {np.mean(losses[-50:]):.3f}")


folder, pairs_file, minutes, output = sys.argv[1:]
torch.set_num_threads(_THREADS)
torch.manual_seed(1)
model = SentenceTransformer(folder, device="cpu").train()
model.max_seq_length = _SEQ_LENGTH
train(model, endless_pairs(pairs_file), float(minutes) * 60)
model.save(output)
