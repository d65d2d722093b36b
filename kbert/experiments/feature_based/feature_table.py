"""The BERT paper's table 7 for any encoder: features stored once, and a tagger trained on each choice."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from absl import logging

from kbert.config import FinetuningConfig, load_config
from kbert.experiments.devices import Devices
from kbert.experiments.feature_based.layer_records import layer_records
from kbert.experiments.seeds import run_seeds
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import source_files
from kbert.reports.feature_table_report import write_page
from kbert.reports.seed_summary import summarize_seeds
from kbert.runs.metrics_file import json_ready
from kbert.tasks import TASKS
from kbert.tasks.feature_based.settings import READS

SUMMARY, PAGE = "summary.json", "report.html"
FINETUNED = "finetuned"
_FEATURES = "features"  # the folder of the records
_SHARDS = {"train": 8, "dev": 1}  # several are read at a time, which mixes the sentences; dev keeps its order


@dataclass(frozen=True)
class TableSettings:
    """What is trained.

    Args:
      config: a `FinetuningConfig` of a task on stored features, in TOML or JSON.
      overrides: changes of it, as of --override.
      reads: names of READS, each a row of the table; none: all.
      seeds: each gives a run of every row; none: that of the config.
      stored: the dtype of the stored features, see `kbert.features.STORED_DTYPES`.
    """

    config: str | Path
    overrides: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    stored: str = "float32"

    def __post_init__(self):
        for name in self.reads:
            if name not in READS:
                raise ValueError(f"--reads: {name!r} is not known; choose some of {', '.join(READS)}.")
        for name in ("reads", "seeds"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"--{name}={','.join(map(str, values))} names one twice; each gives runs.")

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows in the order of the paper."""
        return tuple(name for name in READS if not self.reads or name in self.reads)

    def load(self) -> FinetuningConfig:
        """The config.

        Raises:
          ValueError: when it is broken, or is of a task that reads texts.
        """
        config = load_config(FinetuningConfig, self.config, self.overrides)
        if TASKS[TASKS.require(config.task)].has_encoder:
            raise ValueError(
                f"{self.config}: task={config.task!r} reads texts; give a config of a task on stored "
                "features, such as configs/finetuning/conll2003_features.toml."
            )
        return config


@dataclass(frozen=True)
class TablePlaces:
    """Where things lie.

    Args:
      train_file, dev_file: labelled files.
      run_dir: a folder for the stored features, all runs, summary.json and report.html.
      start: further arguments of `run_finetuning`: `init_checkpoint`, the encoder that is frozen; devices.
      finetuned_run_dir: a fine-tuned run, or several of `--seeds`, to be judged on `dev_file` too; or None.
    """

    train_file: str | Path
    dev_file: str | Path
    run_dir: str | Path
    start: Mapping = field(default_factory=dict)
    finetuned_run_dir: str | Path | None = None


def run_feature_table(settings: TableSettings, places: TablePlaces, write_features: Callable) -> dict:
    """Stores the features, trains every row with every seed in `run_dir/ROW/seed-N`, and writes the table.

    The same call goes on where it was: stored features and finished runs stay as they are. summary.json and
    report.html are written anew after every row.

    Args:
      settings: what is trained.
      places: where things lie.
      write_features: `tfrecords_tools.create_layer_features.create_layer_features`.

    Returns:
      What summary.json holds: `features`, and `rows`: name -> {"seeds", "metrics"} as of `summarize_seeds`;
      the fine-tuned runs are the row FINETUNED.

    Raises:
      ValueError: before anything is written, for missing files and broken configs; else as `layer_records`,
        `run_seeds` and `evaluate` do.
    """
    for path in (places.train_file, places.dev_file):
        source_files(path)  # raises where there is nothing to read
    _make_devices(places.start)
    config = settings.load()
    finetuned = _finetuned_runs(places.finetuned_run_dir)
    config = _complete(config, settings, places)
    train_dir, dev_dir = _records(config, settings, places, write_features)
    summary: dict = {"features": _facts(config, settings, places), "rows": {}}
    for name in settings.rows:
        logging.info("features: %s", name)
        row = dataclasses.replace(config, task_settings=config.task_settings | {"reads": name})
        found = run_seeds(
            row,
            Path(places.run_dir) / name,
            settings.seeds or (config.seed,),
            train_dir=train_dir,
            dev_dir=dev_dir,
            **places.start,
        )
        _write(summary, name, found, places)
    if finetuned:
        _write(summary, FINETUNED, _judged(finetuned, places.dev_file), places)
    return summary


def _make_devices(start):
    """Makes them before the encoder uses TensorFlow; the trainings find them again."""
    names = [one.name for one in dataclasses.fields(Devices)]
    devices = Devices(**{name: start[name] for name in names if name in start})
    if devices.strategy == "multi_worker":
        raise ValueError(
            "--strategy=multi_worker can train only one run in a process, and the table has several; write "
            "the features with kbert layer-features, and train each row with "
            "kbert finetune."
        )
    devices.make_strategy()


def _complete(config, settings, places):
    """The config with the labels of the training file, and the sizes of the checkpoint's encoder."""
    from kbert.checkpoints.formats import read_checkpoint

    start = places.start
    checkpoint = read_checkpoint(
        start["init_checkpoint"], start.get("do_lower_case"), start.get("allow_unmatched", ())
    )
    task_class = TASKS[config.task]
    values = task_class.complete_settings(config.task_settings, checkpoint.encoder, settings.stored)
    examples = list(task_class.read_examples(places.train_file, config.dataset))
    dataset = task_class.complete_dataset(config.dataset, examples)
    task_class.of_dataset(dataset, task_class.read_settings(values)).check_encoder(checkpoint.encoder)
    for _ in task_class.read_examples(places.dev_file, dataset):
        pass  # its errors come before the encoder's work
    return dataclasses.replace(config, task_settings=values, dataset=dataset)


def _records(config, settings, places, write_features):
    """The folders of the stored features of training and development file."""
    source = str(places.start["init_checkpoint"])
    loaded = []

    def write(config, input_file, folder):
        from kbert.inference.loaded_model import load

        if not loaded:
            start = places.start
            loaded.append(load(source, start.get("do_lower_case"), start.get("allow_unmatched", ())))
        shards = _SHARDS[folder.name]
        write_features(config, input_file, folder, model=loaded[0], stored=settings.stored, num_shards=shards)

    folder = Path(places.run_dir) / _FEATURES
    files = {"train": places.train_file, "dev": places.dev_file}
    return [layer_records(config, file, folder / name, source, write) for name, file in files.items()]


def _facts(config, settings, places):
    return {
        "init_checkpoint": str(places.start["init_checkpoint"]),
        "num_hidden_layers": config.task_settings["num_hidden_layers"],
        "stored": settings.stored,
        "dev_file": str(places.dev_file),
    }


def _write(summary, name, found, places):
    summary["rows"][name] = found
    write_json(json_ready(summary), Path(places.run_dir) / SUMMARY)
    write_page(summary, Path(places.run_dir) / PAGE)


def _finetuned_runs(path):
    """The runs of a folder: itself, or the seeds in it; [] for no folder.

    Raises:
      ValueError: when there is none.
    """
    from kbert.runs.run_directory import RunDirectory, holds_run

    if path is None:
        return []
    folders = [Path(path)] if holds_run(path) else sorted(filter(holds_run, Path(path).glob("seed-*")))
    if not folders:
        raise ValueError(f"--finetuned_run_dir={path} holds no run, and no seed-N with one.")
    return [RunDirectory(folder) for folder in folders]


def _judged(runs, dev_file):
    from kbert.experiments.evaluation import evaluate

    return summarize_seeds({run.config.seed: evaluate(run, dev_file)[1] for run in runs})
