"""Hugging Face's fine-tuning on classes or scores, with dynamic padding; see benchmarks/finetuning.py.

One step of a turn is `steps_per_execution` optimizer steps. As in its Trainer: DataCollatorWithPadding, fused
AdamW, linear warm-up and decay, clipping, autocast for bfloat16; "grouped" uses its LengthGroupedSampler;
"compile" uses torch.compile, for shapes that vary.
"""

import csv
import itertools

import numpy as np
import torch
import transformers
from hugging_face_adamw import adamw
from transformers.trainer_pt_utils import LengthGroupedSampler
from turns import Turns

turns = Turns()
settings = turns.settings
config = settings["config"]
torch.set_num_threads(settings["threads"])
transformers.set_seed(config["seed"])

tokenizer = transformers.AutoTokenizer.from_pretrained(settings["init_checkpoint"])
num_labels = len(config["dataset"].get("labels", ())) or 1  # one is a number to be predicted
model = transformers.AutoModelForSequenceClassification.from_pretrained(
    settings["init_checkpoint"], num_labels=num_labels
)
compute = torch.compile(model, dynamic=True) if "compile" in settings["options"] else model
collator = transformers.DataCollatorWithPadding(tokenizer)


def read_examples(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = [[row[name] for row in rows] for name in ("text", "text_pair") if name in rows[0]]
    encoded = tokenizer(*texts, truncation=True, max_length=config["max_seq_length"])
    label = float if num_labels == 1 else int
    return [
        {name: values[index] for name, values in encoded.items()} | {"labels": label(row["label"])}
        for index, row in enumerate(rows)
    ]


def autocast():
    return torch.autocast("cpu", torch.bfloat16, enabled=settings["precision"] == "bfloat16")


train_examples, dev_examples = read_examples(settings["train_file"]), read_examples(settings["dev_file"])
batch_size = config["train_batch_size"]
generator = torch.Generator().manual_seed(config["seed"])
if "grouped" in settings["options"]:
    lengths = [len(example["input_ids"]) for example in train_examples]
    sampler = LengthGroupedSampler(batch_size, lengths=lengths, generator=generator)
else:
    sampler = torch.utils.data.RandomSampler(train_examples, generator=generator)
loader = torch.utils.data.DataLoader(
    train_examples, batch_size, sampler=sampler, collate_fn=collator, drop_last=True
)
num_steps = int(len(train_examples) / batch_size * config["num_train_epochs"])
optimizer = adamw(model, config["optimizer"])
schedule = transformers.get_linear_schedule_with_warmup(
    optimizer, int(num_steps * config["warmup_proportion"]), num_steps
)


def train_step(batch) -> float:
    with autocast():
        loss = compute(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), config["optimizer"]["global_clipnorm"])
    optimizer.step()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


@torch.no_grad()
def predictions():
    model.eval()
    predicted = []
    for start in range(0, len(dev_examples), batch_size):
        with autocast():
            logits = model(**collator(dev_examples[start : start + batch_size])).logits.float()
        predicted.extend((logits[:, 0] if num_labels == 1 else logits.argmax(-1)).tolist())
    return np.array(predicted)


def evaluate():
    """The scores that the benchmark asks for; F1 is label 1's, Matthews' is Pearson's of two labels."""
    predicted, wanted = predictions(), np.array([example["labels"] for example in dev_examples])
    scores = {
        "accuracy": lambda: (predicted == wanted).mean(),
        "f1": lambda: 2 * (predicted & wanted).sum() / max(1, predicted.sum() + wanted.sum()),
        "matthews": lambda: np.corrcoef(predicted, wanted)[0, 1],
        "pearson": lambda: np.corrcoef(predicted, wanted)[0, 1],
        "spearman": lambda: np.corrcoef(ranks(predicted), ranks(wanted))[0, 1],
    }
    return {name: float(scores[name]()) for name in settings["scores"]}


def ranks(values):
    """Equal values share the mean of their ranks."""
    ordered = np.sort(values)
    return np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")


turns.ready(torch=torch.__version__, transformers=transformers.__version__)
model.train()
stream = itertools.chain.from_iterable(itertools.repeat(loader))
taken = 0
while taken < num_steps and turns.next_step():
    steps = min(config["steps_per_execution"], num_steps - taken)
    loss = sum(train_step(next(stream)) for _ in range(steps)) / steps
    turns.end_step(examples=steps * batch_size, loss=loss)
    taken += steps
if taken == num_steps:
    turns.finish(**evaluate())
