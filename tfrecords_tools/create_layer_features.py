r"""Script: labelled text + a checkpoint -> TFRecords with the outputs of the frozen encoder's layers.

  kbert layer-features --config=configs/finetuning/conll2003_features.toml \
      --input_file=conll2003/eng.train --init_checkpoint=hf://google-bert/bert-base-cased \
      --output_dir=records/train --stored=float16

For tasks on stored features, such as feature-based tagging (docs/feature_based_ner.md). The encoder sees each
text once; trainings with --train_dir then read, of all layers, those that they need. The size is said before
anything is written. `kbert feature-ner` does all this for training and development file.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags, logging

from kbert.cli import script
from kbert.cli.progress import Progress
from kbert.config import FinetuningConfig, load_config, to_dict
from kbert.experiments.start_content import content_digest
from kbert.features import STORED_DTYPES
from kbert.input_pipelines.tables.table_paths import source_digest, source_files
from kbert.manifest import Manifest
from kbert.tasks import TASKS

if TYPE_CHECKING:
    import numpy as np

FLAGS = flags.FLAGS

_EXAMPLES_AT_ONCE = 256
_ROOM = 1.05  # labels, and the frames of records, beside the vectors
COSTS = {
    "float32": "as the encoder computes them",
    "float16": "half of float32; rounded to 11 bits, by at most 1 part in 2,048; above 65,504: an error",
    "bfloat16": "half of float32; rounded to 8 bits, by at most 1 part in 256",
}


def define_flags():
    flags.DEFINE_string("config", None, "The config of the training: task, dataset, lengths.")
    flags.DEFINE_multi_string(
        "override",
        [],
        "One changed setting, for example max_seq_length=64; as often as you like.",
    )
    flags.DEFINE_string("input_file", None, "The labelled file.")
    flags.DEFINE_string("init_checkpoint", None, "The encoder: any checkpoint that kbert reads.")
    flags.DEFINE_list("allow_unmatched", [], "What may differ in the checkpoint, as in run_finetuning.")
    flags.DEFINE_bool("do_lower_case", None, "The casing, if the checkpoint does not record it.")
    flags.DEFINE_string("output_dir", None, "The folder to make, with shards, manifest.json and vocab.txt.")
    flags.DEFINE_enum(
        "stored", "float32", STORED_DTYPES, "; ".join(f"{name}: {cost}" for name, cost in COSTS.items()) + "."
    )
    flags.DEFINE_integer("batch_size", 32, "Windows that the encoder sees at a time.", lower_bound=1)
    flags.DEFINE_integer(
        "num_shards",
        1,
        "How many TFRecord files; several mix better, one keeps the order of the file.",
        lower_bound=1,
    )
    flags.DEFINE_bool("overwrite", False, "Replace the records in output_dir once the new ones are complete.")
    flags.mark_flags_as_required(["config", "input_file", "init_checkpoint", "output_dir"])


def main():
    from tfrecords_tools.records.record_writer import check_output_dir

    check_output_dir(FLAGS.output_dir, FLAGS.overwrite, [FLAGS.config, FLAGS.input_file])
    source_files(FLAGS.input_file)  # raises where there is nothing to read
    config = load_config(FinetuningConfig, FLAGS.config, FLAGS.override)
    TASKS.require(config.task)

    # TensorFlow loads here, after all checks that do not need it.
    from kbert.inference.loaded_model import load

    model = load(FLAGS.init_checkpoint, FLAGS.do_lower_case, FLAGS.allow_unmatched)
    manifest = create_layer_features(
        config,
        FLAGS.input_file,
        FLAGS.output_dir,
        model=model,
        stored=FLAGS.stored,
        batch_size=FLAGS.batch_size,
        num_shards=FLAGS.num_shards,
        overwrite=FLAGS.overwrite,
    )
    written = sum(shard.num_bytes for shard in manifest.shards)
    examples = manifest.statistics["source_examples"]
    print(f"records: {examples:,} examples, {written / 1e6:,.1f} MB, written to {FLAGS.output_dir}")


def create_layer_features(
    config: FinetuningConfig,
    input_file: str | Path,
    output_dir: str | Path,
    *,
    model,
    stored: str = "float32",
    batch_size: int = 32,
    num_shards: int = 1,
    overwrite: bool = False,
) -> Manifest:
    """Writes the outputs of a frozen encoder's layers for a labelled file; the arguments are the flags.

    Args:
      config: names a task without an encoder. Its `task_settings` are completed with the encoder's sizes.
      input_file: the labelled file.
      output_dir: the folder to make.
      model: the `LoadedModel` whose encoder is asked.
      stored: one of STORED_DTYPES.
      batch_size: windows at a time.
      num_shards: how many files; with several, the parts of a sentence longer than a row do not follow each
        other, so give 1 for data to evaluate on.
      overwrite: replace finished records in `output_dir`, once the new ones are complete.

    Returns:
      The manifest that was written.

    Raises:
      ValueError: before the encoder is asked for anything, for a task that reads texts, a file or settings
        that do not fit, and a disk without room; later for a number that `stored` cannot hold. Nothing is
        left behind.
    """
    # Late: they bring NumPy along, which --help and a wrong flag do not need.
    from tfrecords_tools.records.record_statistics import RecordStatistics
    from tfrecords_tools.records.record_writer import RecordWriter, check_output_dir

    check_output_dir(output_dir, overwrite, [input_file])
    task_class = TASKS[config.task]
    if task_class.has_encoder:
        raise ValueError(
            f"task={config.task!r} reads texts, not stored features; make its records with "
            "kbert finetuning-data."
        )
    values = task_class.complete_settings(config.task_settings, model.config, stored)
    settings = task_class.read_settings(values)
    examples = list(task_class.read_examples(input_file, config.dataset))
    dataset = task_class.complete_dataset(config.dataset, examples)
    task = task_class.of_dataset(dataset, settings)
    task.check_encoder(model.config)
    _say_size(task, examples, model.config, stored, output_dir)
    features = task.record_features(config.max_seq_length)
    record_settings = {
        "input_file": str(input_file),
        "input_digest": source_digest(input_file),
        "init_checkpoint": model.source,
        "init_content": content_digest(model.source),
        "max_seq_length": config.max_seq_length,
        "dataset": to_dict(dataset),
        "task_settings": to_dict(settings),
    }
    with RecordWriter(
        output_dir,
        kind=config.task,
        features=features,
        vocabulary=model.vocabulary,
        num_shards=min(num_shards, len(examples)),
        settings=record_settings,
        overwrite=overwrite,
    ) as writer:
        counted = RecordStatistics(features, model.vocabulary)
        for columns in _parts(task, examples, config.max_seq_length, model, batch_size):
            writer.write(columns)
            counted.update(columns)
        totals = counted.to_json(model.vocabulary)
        statistics = {
            "examples": totals["records"],
            "tokens": totals["tokens"],
            "source_examples": len(examples),
        }
        return writer.finish(statistics, counted)


def _parts(task, examples, length, model, batch_size) -> Iterator["dict[str, np.ndarray]"]:
    from kbert.inference.layer_vectors import LayerVectors
    from kbert.tokenization.text_inputs import TextInputs

    vectors = LayerVectors(model, batch_size)
    text_inputs = TextInputs(model.vocabulary, length)
    progress = Progress("Wrote", "examples", len(examples))
    for start in range(0, len(examples), _EXAMPLES_AT_ONCE):
        part = examples[start : start + _EXAMPLES_AT_ONCE]
        yield task.layer_features(part, text_inputs, vectors).features
        progress.report(start + len(part))
    progress.report_end()


def _say_size(task, examples, encoder, stored, output_dir):
    """Logs how large the records will be. Raises ValueError where they have no room."""
    from kbert.input_pipelines.records.raw_numbers import bytes_of_number

    vectors, layers = task.num_stored_vectors(examples), encoder.num_hidden_layers + 1
    size = vectors * layers * encoder.hidden_size * bytes_of_number(stored)
    logging.info(
        "%s: %s vectors of %d layers x %d numbers as %s: %s MB (%s)",
        output_dir,
        f"{vectors:,}",
        layers,
        encoder.hidden_size,
        stored,
        f"{size / 1e6:,.1f}",
        COSTS[stored],
    )
    parent = next(one for one in Path(output_dir).resolve().parents if one.exists())
    free = shutil.disk_usage(parent).free
    if free < _ROOM * size:
        raise ValueError(
            f"{output_dir} would take {size / 1e6:,.0f} MB, but its disk has {free / 1e6:,.0f} MB left; make "
            "room, or store float16 or bfloat16."
        )


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
