"""Hugging Face's fine-tuning of a classifier with dynamic padding; see benchmarks/finetuning.py.

One step of a turn is `steps_per_call` optimizer steps. As in its Trainer: DataCollatorWithPadding, fused
AdamW, linear warm-up and decay, clipping, autocast for bfloat16; `group_by_length` uses its
LengthGroupedSampler; `compile` uses torch.compile, for shapes that vary.
"""

import csv

import numpy as np
import torch
import transformers
from transformers.trainer_pt_utils import LengthGroupedSampler
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
transformers.set_seed(settings["seed"])

tokenizer = transformers.AutoTokenizer.from_pretrained(settings["init_checkpoint"])
labels = settings["dataset"]["labels"]
model = transformers.AutoModelForSequenceClassification.from_pretrained(
    settings["init_checkpoint"], num_labels=len(labels)
)
compute = torch.compile(model, dynamic=True) if settings["compile"] else model
collator = transformers.DataCollatorWithPadding(tokenizer)


def read_examples(path):
    dataset = settings["dataset"]
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = [[row[dataset[name]] for row in rows] for name in ("text", "text_pair") if dataset.get(name)]
    encoded = tokenizer(*texts, truncation=True, max_length=settings["max_seq_length"])
    return [
        {
            "input_ids": ids,
            "token_type_ids": types,
            "attention_mask": mask,
            "labels": labels.index(row["label"]),
        }
        for ids, types, mask, row in zip(
            encoded["input_ids"],
            encoded["token_type_ids"],
            encoded["attention_mask"],
            ({"label": row[dataset["label"]]} for row in rows),
            strict=True,
        )
    ]


def autocast():
    return torch.autocast("cpu", torch.bfloat16, enabled=settings["precision"] == "bfloat16")


train_examples, dev_examples = read_examples(settings["train_file"]), read_examples(settings["dev_file"])
batch_size, adam = settings["batch_size"], settings["optimizer"]
generator = torch.Generator().manual_seed(settings["seed"])
if settings["group_by_length"]:
    lengths = [len(example["input_ids"]) for example in train_examples]
    sampler = LengthGroupedSampler(batch_size, lengths=lengths, generator=generator)
else:
    sampler = torch.utils.data.RandomSampler(train_examples, generator=generator)
loader = torch.utils.data.DataLoader(
    train_examples, batch_size, sampler=sampler, collate_fn=collator, drop_last=True
)
num_steps = int(len(train_examples) / batch_size * settings["num_epochs"])
no_decay = ("bias", "LayerNorm")
decayed = [p for name, p in model.named_parameters() if not any(part in name for part in no_decay)]
others = [p for name, p in model.named_parameters() if any(part in name for part in no_decay)]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": adam["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
    lr=adam["learning_rate"],
    betas=(adam["beta_1"], adam["beta_2"]),
    eps=adam["epsilon"],
    fused=True,
)
schedule = transformers.get_linear_schedule_with_warmup(
    optimizer, int(num_steps * settings["warmup_proportion"]), num_steps
)


def batches():
    while True:
        yield from loader


def train_step(batch) -> float:
    with autocast():
        loss = compute(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), adam["global_clipnorm"])
    optimizer.step()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


@torch.no_grad()
def evaluate():
    model.eval()
    predicted = []
    for start in range(0, len(dev_examples), batch_size):
        with autocast():
            logits = model(**collator(dev_examples[start : start + batch_size])).logits
        predicted.extend(logits.argmax(-1).tolist())
    predicted, wanted = np.array(predicted), np.array([example["labels"] for example in dev_examples])
    positive = len(labels) - 1
    both = ((predicted == positive) & (wanted == positive)).sum()
    f1 = 2 * both / max(1, (predicted == positive).sum() + (wanted == positive).sum())
    return {"accuracy": float((predicted == wanted).mean()), "f1": float(f1)}


turns.ready(torch=torch.__version__, transformers=transformers.__version__)
model.train()
stream, taken = batches(), 0
while taken < num_steps and turns.next_step():
    steps = min(settings["steps_per_call"], num_steps - taken)
    loss = sum(train_step(next(stream)) for _ in range(steps)) / steps
    turns.report(examples=steps * batch_size, loss=loss)
    turns.end_step()
    taken += steps
if taken == num_steps:
    turns.finish(**evaluate())
