"""The other side of test_learning.py, run by the peers' own Python: torch and transformers train, no kbert.

python learning_peer.py train CASES.json   trains in float32 and in float64: losses, and folders of weights
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from hugging_face_peer import as_tensors
from transformers.trainer_pt_utils import get_parameter_names

# transformers, trainer.py, `get_decay_parameter_names`.
NOT_DECAYED = [r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]


def train(case, dtype):
    """Trains case["folder"] on kept batches; beside them come a folder with weights and a file of losses."""
    source, target = Path(case["folder"]), Path(case["learned"]) / dtype
    (architecture,) = json.loads((source / "config.json").read_text())["architectures"]
    model = getattr(transformers, architecture).from_pretrained(source, dtype=getattr(torch, dtype)).train()
    # As google-research/bert, kbert draws [PAD] too among the random tokens of masks, and trains its row.
    model.get_input_embeddings().padding_idx = None
    settings, losses = case["optimizer"], []
    optimizer = torch.optim.AdamW(groups(model, settings["weight_decay"]), lr=settings["learning_rate"])
    num_steps, batches = case["num_steps"], dict(np.load(target.with_name("batches.npz")))
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, case["num_warmup_steps"], num_steps)
    for step in range(num_steps):
        batch = {name.split("/")[1]: batches[name] for name in batches if name.startswith(f"{step}/")}
        loss = model(**inputs(model, batch), labels=labels(batch)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings["global_clipnorm"])
        for group in optimizer.param_groups:  # in kbert, Keras and TensorFlow before the root is corrected
            group["eps"] = settings["epsilon"] / (1 - group["betas"][1] ** (step + 1)) ** 0.5
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    model.float().save_pretrained(target)
    target.with_suffix(".json").write_text(json.dumps(losses))


def inputs(model, batch):
    """Those of kbert's batch; RoBERTa and those after it would count positions over what is not <pad>."""
    tensors = as_tensors(model, batch)
    if model.config.model_type in ("roberta", "xlm-roberta", "mpnet"):
        positions = torch.arange(tensors["input_ids"].shape[1]) + model.config.pad_token_id + 1
        tensors["position_ids"] = positions.expand_as(tensors["input_ids"])
    return tensors


def groups(model, weight_decay):
    decayed = set(get_parameter_names(model, [torch.nn.LayerNorm], NOT_DECAYED))
    named = dict(model.named_parameters())
    return [
        {"params": [named[name] for name in named if name in decayed], "weight_decay": weight_decay},
        {"params": [named[name] for name in named if name not in decayed], "weight_decay": 0.0},
    ]


def labels(batch):
    """What transformers' losses take: -100 where a token has no label; a mean over those that have one."""
    length = batch["input_ids"].shape[1]
    if "masked_lm_ids" not in batch:
        found = batch["label_ids"]
        return torch.tensor(found if found.ndim == 1 else np.where(found < 0, -100, found)[:, :length]).long()
    found = np.full(batch["input_ids"].shape, -100)
    rows, columns = np.nonzero(batch["masked_lm_weights"])
    found[rows, batch["masked_lm_positions"][rows, columns]] = batch["masked_lm_ids"][rows, columns]
    return torch.tensor(found)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for entry in json.loads(Path(sys.argv[2]).read_text()):
        for precision in ("float32", "float64"):
            train(entry, precision)
