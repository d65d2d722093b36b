r"""Benchmark: fine-tuning an encoder on classes and scores of texts, kbert beside Hugging Face at its best.

  make bench-peers
  python -m benchmarks.finetuning --data_dir=data
  python -m benchmarks.finetuning --data_dir=data --turns=5
  python -m benchmarks.finetuning --data_dir=data --datasets=CoLA,STS-B --init_checkpoint=all-mpnet-base-v2

--data_dir holds a folder for each set, such as `sst2/` with train.tsv and dev.tsv; see `DATASETS`.
By default there are three sets, of short, middle and long texts, and MiniLM. Of SQuAD the pairs of question
and paragraph are classified: does the paragraph answer the question? So inputs are as long as SQuAD's, up to
384 tokens. Both systems start from the same weights, read the same files, train with the same AdamW,
schedule, batch size and epochs, and take their steps in turn. kbert runs the routine of its own script,
Hugging Face the steps of its Trainer.
Tokenization, which both do once before training, is not timed. With --turns both stop early, and there is no
accuracy. Hugging Face pads each batch to its longest text; `+grouped` uses its sampler too, which puts texts
of similar length together; `+compile` also compiles the model with torch.compile for shapes that vary.
"""

import csv
import tempfile
from pathlib import Path
from typing import NamedTuple

from absl import flags

from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.adamw import adamw
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, find_minilm
from kbert.cli import script

FLAGS = flags.FLAGS

CONTESTANTS = tuple(
    name.replace("/", f"/{precision}", 1)
    for precision in ("float32", "bfloat16")
    for name in ("kbert/", "hugging_face/", "hugging_face/+grouped", "hugging_face/+grouped+compile")
)
_WARM_UP_TURNS = 1


class Dataset(NamedTuple):
    """A labelled set: its files in --data_dir, the columns of texts and label, and how it is trained on.

    `columns` are numbers, from 0, where a file has no header; SQuAD's JSON has no columns to name. Without
    `labels` the label is a number to be predicted. `max_rows` are the most rows to use of the training file.
    """

    train_file: str
    dev_file: str
    columns: tuple[str | int, ...]
    epochs: float
    max_seq_length: int
    labels: tuple[str, ...] = ("0", "1")
    scores: tuple[str, ...] = ("accuracy", "f1")
    max_rows: int | None = None


DATASETS = {
    "SST-2": Dataset("sst2/train.tsv", "sst2/dev.tsv", ("sentence", "label"), 1.0, 128, max_rows=16_000),
    "MRPC": Dataset("mrpc/train.tsv", "mrpc/dev.tsv", ("#1 String", "#2 String", "Quality"), 3.0, 128),
    "SQuAD": Dataset("squad_v2/train-v2.0.json", "squad_v2/dev-v2.0.json", (), 2.0, 384),
    "CoLA": Dataset("cola/train.tsv", "cola/dev.tsv", (3, 1), 3.0, 64, scores=("matthews", "accuracy")),
    "RTE": Dataset(
        "rte/train.tsv",
        "rte/dev.tsv",
        ("sentence1", "sentence2", "label"),
        3.0,
        256,
        labels=("entailment", "not_entailment"),
        scores=("accuracy",),
    ),
    "SICK": Dataset(
        "sick/SICK_train.txt",
        "sick/SICK_dev.txt",
        ("sentence_A", "sentence_B", "entailment_judgment"),
        3.0,
        64,
        labels=("CONTRADICTION", "ENTAILMENT", "NEUTRAL"),
        scores=("accuracy",),
    ),
    "STS-B": Dataset(
        "stsb/train.tsv",
        "stsb/dev.tsv",
        ("sentence1", "sentence2", "score"),
        3.0,
        128,
        labels=(),
        scores=("pearson", "spearman"),
    ),
    "SMS": Dataset(
        "sms_spam/SMSSpamCollection",
        "sms_spam/SMSSpamCollection.dev",
        (1, 0),
        2.0,
        96,
        labels=("ham", "spam"),
    ),
}
_BY_DEFAULT = ("SST-2", "MRPC", "SQuAD")


def define_flags():
    define_contestant_flags(CONTESTANTS, CONTESTANTS)
    flags.DEFINE_string("data_dir", None, "Folder with sst2/, mrpc/ and the other sets.")
    flags.DEFINE_string("init_checkpoint", None, "Hugging Face folder; by default the peers' MiniLM.")
    flags.DEFINE_list("datasets", list(_BY_DEFAULT), f"Which sets, among {', '.join(DATASETS)}.")
    flags.DEFINE_integer("turns", None, "Stop after so many timed turns: no accuracy.", lower_bound=1)
    flags.DEFINE_integer("steps_per_turn", 20, "Optimizer steps of a turn.", lower_bound=1)
    flags.DEFINE_integer("seed", 1, "Seed of the order, the head's first weights and dropout.")
    flags.mark_flags_as_required(["data_dir"])


def main():
    for name in FLAGS.datasets:
        if name not in DATASETS:
            raise ValueError(f"--datasets names {name!r}; choose among {', '.join(DATASETS)}.")
        for file in DATASETS[name][:2]:
            if not Path(FLAGS.data_dir, file).is_file():
                raise ValueError(f"--data_dir={FLAGS.data_dir} must hold {file}.")
    contestants = chosen_contestants(CONTESTANTS)
    init_checkpoint = FLAGS.init_checkpoint or find_minilm()
    print(machine(), flush=True)
    rows = {}
    for name in FLAGS.datasets:
        print(f"\n{name}", flush=True)
        found = measure(DATASETS[name], contestants, init_checkpoint)
        print(table(found, DATASETS[name].scores))
        print(beside_best_peer({key: row["examples_per_second"] for key, row in found.items()}))
        rows |= {f"{name}: {key}": row for key, row in found.items()}
    close("finetuning", rows)


# ------------------------------------------------------------------------------ measuring


def measure(dataset: Dataset, contestants, init_checkpoint) -> dict:
    """name -> figures."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "config": config_of(dataset),
            "scores": dataset.scores,
            "train_file": f"{folder}/train.tsv",
            "dev_file": f"{folder}/dev.tsv",
            "init_checkpoint": str(init_checkpoint),
            "runs_dir": folder,
        }
        train_rows = read_rows(Path(FLAGS.data_dir, dataset.train_file), dataset)
        write_table(list(train_rows)[: dataset.max_rows], settings["train_file"])
        dev_rows = read_rows(Path(FLAGS.data_dir, dataset.dev_file), dataset)
        write_table(list(dev_rows), settings["dev_file"])
        with started(contestants, "finetuning", settings) as workers:
            alternate(workers, _WARM_UP_TURNS, 1)
            alternate(workers, FLAGS.turns, 1)
            return {worker.name: figures(worker.record) for worker in workers}


def config_of(dataset: Dataset) -> dict:
    """The config of kbert's fine-tuning, which Hugging Face's worker reads too."""
    pair = {} if len(dataset.columns) == 2 else {"text_pair": "text_pair"}
    labels = {"labels": [str(index) for index in range(len(dataset.labels))]} if dataset.labels else {}
    return {
        "task": "sequence_classification" if dataset.labels else "sequence_regression",
        "dataset": {"text": "text", **pair, "label": "label", **labels},
        # The schedule and the epsilon of transformers' Trainer.
        "optimizer": {"name": "adamw", "decay": "linear_after_warmup"} | adamw(5e-5) | {"epsilon": 1e-8},
        "max_seq_length": dataset.max_seq_length,
        "num_train_epochs": dataset.epochs,
        "warmup_proportion": 0.1,
        "train_batch_size": 32,
        "steps_per_execution": FLAGS.steps_per_turn,
        "log_every_steps": FLAGS.steps_per_turn,
        "save_checkpoints_steps": 1_000_000,
        "seed": FLAGS.seed,
    }


def write_table(rows: list, path):
    """Writes one or two texts and a label a row as a table that both systems read."""
    heads = ("text", "label") if len(rows[0]) == 2 else ("text", "text_pair", "label")
    lines = ["\t".join(" ".join(field.split()) for field in row) for row in (heads, *rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_rows(path: Path, dataset: Dataset):
    """Yields texts and label, the label's number where it has a name.

    Of SQuAD's JSON these are question, paragraph, and "1" where the paragraph answers.
    """
    if path.suffix != ".json":
        has_header = isinstance(dataset.columns[0], str)
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader if has_header else csv.reader
            for row in reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                *texts, label = (row[column] for column in dataset.columns)
                yield [*texts, str(dataset.labels.index(label)) if dataset.labels else label]
        return
    from kbert.tasks.question_answering.squad_files import read_questions  # its package loads TensorFlow

    for question in read_questions(path):
        yield [question.question, question.context, str(int(bool(question.answers)))]


# ------------------------------------------------------------------------------ report


def figures(record) -> dict:
    """Rates after the warm-up, and the scores at the end. A step of a record is a turn of optimizer steps."""
    timed = record.steps[_WARM_UP_TURNS:] or record.steps
    rates = [turn["examples"] / turn["seconds"] for turn in timed]
    examples = sum(turn["examples"] for turn in timed)
    return {
        "examples_per_second": examples / sum(turn["seconds"] for turn in timed),
        "slowest": min(rates),
        "fastest": max(rates),
        "cpu_seconds_per_thousand": 1000 * sum(turn["cpu_seconds"] for turn in timed) / examples,
        "last_loss": record.steps[-1]["loss"],
        "megabytes": record.peak_megabytes,
    } | (record.result or {})


def table(rows: dict, scores) -> str:
    heads = ["", "examples/s", "slowest to fastest turn", "CPU s for 1,000", "last loss", *scores]
    return markdown(
        [*heads, "peak MB"],
        [
            [
                name,
                f"{row['examples_per_second']:.1f}",
                f"{row['slowest']:.1f} to {row['fastest']:.1f}",
                f"{row['cpu_seconds_per_thousand']:.1f}",
                f"{row['last_loss']:.3f}",
                *(f"{row[score]:.4f}" if score in row else "" for score in scores),
                f"{row['megabytes']:,.0f}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
