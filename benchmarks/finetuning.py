r"""Benchmark: fine-tuning an encoder on every kind of task, kbert beside Hugging Face at its best.

  make bench-peers
  python -m benchmarks.finetuning --data_dir=data
  python -m benchmarks.finetuning --data_dir=data --turns=5
  python -m benchmarks.finetuning --data_dir=data --datasets=CoLA,STS-B --init_checkpoint=all-mpnet-base-v2

--data_dir holds a folder for each set, such as `sst2/` with train.tsv and dev.tsv:
benchmarks/workers/finetuning_sets.py names the files. By default there are three sets, of short, middle and
long texts, and MiniLM. Both systems start from the same weights, read the same rows, train with the same
AdamW, schedule, batch size and epochs, and take their steps in turn. kbert runs the routine of its own
script, Hugging Face the steps of its Trainer on what its example scripts make of the rows. Each cuts a
question's long context into windows as it does by default.
Tokenization, which both do once before training, is not timed. With --turns both stop early, and there is no
accuracy. Hugging Face pads each batch to its longest text; `+grouped` uses its sampler too, which puts texts
of similar length together; `+compile` also compiles the model with torch.compile for shapes that vary.
"""

import tempfile
from pathlib import Path

from absl import flags

from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, find_minilm
from benchmarks.workers.finetuning_sets import SETS, LabelledSet, config_of, read_rows, scores, write_rows
from kbert.cli import script

FLAGS = flags.FLAGS

CONTESTANTS = tuple(
    name.replace("/", f"/{precision}", 1)
    for precision in ("float32", "bfloat16")
    for name in ("kbert/", "hugging_face/", "hugging_face/+grouped", "hugging_face/+grouped+compile")
)
_WARM_UP_TURNS = 1
_BY_DEFAULT = ("SST-2", "MRPC", "SQuAD")


def define_flags():
    define_contestant_flags(CONTESTANTS, CONTESTANTS)
    flags.DEFINE_string("data_dir", None, "Folder with sst2/, mrpc/ and the other sets.")
    flags.DEFINE_string("init_checkpoint", None, "Hugging Face folder; by default the peers' MiniLM.")
    flags.DEFINE_list("datasets", list(_BY_DEFAULT), f"Which sets, among {', '.join(SETS)}.")
    flags.DEFINE_integer("turns", None, "Stop after so many timed turns: no accuracy.", lower_bound=1)
    flags.DEFINE_integer("steps_per_turn", 20, "Optimizer steps of a turn.", lower_bound=1)
    flags.DEFINE_integer("seed", 1, "Seed of the order, the head's first weights and dropout.")
    flags.mark_flags_as_required(["data_dir"])


def main():
    for name in FLAGS.datasets:
        if name not in SETS:
            raise ValueError(f"--datasets names {name!r}; choose among {', '.join(SETS)}.")
        for file in SETS[name][:2]:
            if not Path(FLAGS.data_dir, file).is_file():
                raise ValueError(f"--data_dir={FLAGS.data_dir} must hold {file}.")
    contestants = chosen_contestants(CONTESTANTS)
    init_checkpoint = FLAGS.init_checkpoint or find_minilm()
    print(machine(), flush=True)
    rows = {}
    for name in FLAGS.datasets:
        print(f"\n{name}", flush=True)
        found = measure(SETS[name], contestants, init_checkpoint)
        print(table(found, SETS[name].scores))
        print(beside_best_peer({key: row["examples_per_second"] for key, row in found.items()}))
        rows |= {f"{name}: {key}": row for key, row in found.items()}
    close("finetuning", rows)


# ------------------------------------------------------------------------------ measuring


def measure(labelled: LabelledSet, contestants, init_checkpoint) -> dict:
    """name -> figures."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "config": config_of(labelled, FLAGS.seed, FLAGS.steps_per_turn),
            "scores": labelled.scores,
            "train_file": f"{folder}/train.jsonl",
            "dev_file": f"{folder}/dev.jsonl",
            "init_checkpoint": str(init_checkpoint),
            "runs_dir": folder,
        }
        train_file, dev_file = (Path(FLAGS.data_dir, file) for file in labelled[:2])
        write_rows(read_rows(train_file, labelled, labelled.max_rows), settings["train_file"])
        dev_rows = read_rows(dev_file, labelled)
        write_rows(dev_rows, settings["dev_file"])
        with started(contestants, "finetuning", settings) as workers:
            alternate(workers, _WARM_UP_TURNS, 1)
            alternate(workers, FLAGS.turns, 1)
            for worker in workers:
                if "answers" in (worker.record.result or {}):
                    worker.record.result = scores(labelled, dev_rows, worker.record.result["answers"])
            return {worker.name: figures(worker.record) for worker in workers}


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


def table(rows: dict, names) -> str:
    heads = ["", "examples/s", "slowest to fastest turn", "CPU s for 1,000", "last loss", *names]
    return markdown(
        [*heads, "peak MB"],
        [
            [
                name,
                f"{row['examples_per_second']:.1f}",
                f"{row['slowest']:.1f} to {row['fastest']:.1f}",
                f"{row['cpu_seconds_per_thousand']:.1f}",
                f"{row['last_loss']:.3f}",
                *(f"{row[score]:.4f}" if score in row else "" for score in names),
                f"{row['megabytes']:,.0f}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
