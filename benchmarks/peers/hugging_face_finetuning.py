"""Hugging Face's fine-tuning, with dynamic padding; see benchmarks/finetuning.py and hugging_face_tasks.py.

One step of a turn is `steps_per_execution` optimizer steps. As in its Trainer: fused AdamW, linear warm-up
and decay, clipping, autocast for bfloat16; "grouped" uses its LengthGroupedSampler; "compile" uses
torch.compile, for shapes that vary.
"""

import itertools
import json

import torch
import transformers
from hugging_face_adamw import adamw
from hugging_face_tasks import TASKS
from transformers.trainer_pt_utils import LengthGroupedSampler
from turns import Turns

turns = Turns()
settings = turns.settings
config = settings["config"]
torch.set_num_threads(settings["threads"])
transformers.set_seed(config["seed"])


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def autocast():
    return torch.autocast("cpu", torch.bfloat16, enabled=settings["precision"] == "bfloat16")


tokenizer = transformers.AutoTokenizer.from_pretrained(settings["init_checkpoint"])
train_rows, dev_rows = read_rows(settings["train_file"]), read_rows(settings["dev_file"])
task = TASKS[config["task"]](tokenizer, config, train_rows)
head = {"num_labels": task.num_labels} if task.num_labels else {}
model = task.model.from_pretrained(settings["init_checkpoint"], **head)
compute = torch.compile(model, dynamic=True) if "compile" in settings["options"] else model
train_examples = task.examples(train_rows)
batch_size = config["train_batch_size"]
generator = torch.Generator().manual_seed(config["seed"])
if "grouped" in settings["options"]:
    lengths = [task.length(example) for example in train_examples]
    sampler = LengthGroupedSampler(batch_size, lengths=lengths, generator=generator)
else:
    sampler = torch.utils.data.RandomSampler(train_examples, generator=generator)
loader = torch.utils.data.DataLoader(
    train_examples, batch_size, sampler=sampler, collate_fn=task.collator, drop_last=True
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
def answers():
    """The answer to each row of the development set."""
    model.eval()
    examples, outputs = task.examples(dev_rows), []
    for start in range(0, len(examples), batch_size):
        batch = task.collator(examples[start : start + batch_size])
        with autocast():
            found = model(**batch)
        names = [name for name in found if name.endswith("logits")]
        arrays = {name: found[name].float().numpy() for name in names} | {"labels": batch.get("labels")}
        rows = range(len(batch["input_ids"]))
        outputs += [{name: array[row] for name, array in arrays.items() if array is not None} for row in rows]
    return task.answers(dev_rows, outputs)


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
    turns.finish(answers=answers())
