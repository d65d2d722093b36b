r"""Script: a run or any checkpoint -> a SavedModel that stock TensorFlow Serving loads, text in, answer out.

  python -m export.export_savedmodel --run_dir=runs/sst2 --model_base_path=serving/sst2
  python -m export.export_savedmodel --init_checkpoint=hf://org/name --model_base_path=serving/name

Writes model_base_path/<version>/. The folder gets this name only after two checks: the op gate (all ops are
known to stock TF Serving with TF-Text 2.12.1), and the session loader, which must give the Keras model's
answers for every signature.
"""

import json
from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.files.whole_file import whole_folder, write_json
from kbert.scripts.training_flags import define_init_checkpoint_flags

from .source_flags import source_of_flags

FLAGS = flags.FLAGS

# Differences from the Keras answer up to this are rounding. bfloat16 has 8 bits, and rounds between all ops:
# its bound grows with the largest number of the outputs, once that is above 1.
TOLERANCES = {"float32": 1e-5, "bfloat16": 0.1}


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run to export; or give --init_checkpoint.")
    define_init_checkpoint_flags()
    flags.DEFINE_string("model_base_path", None, "Folder of the model's versions.")
    flags.DEFINE_integer("version", None, "Version number; by default the next free one.", lower_bound=1)
    flags.DEFINE_enum(
        "precision",
        "float32",
        list(TOLERANCES),
        "Of the encoder's products. bfloat16 is faster on CPUs that have AVX512-BF16 or AMX; the report's "
        "max_difference says what it costs.",
    )
    flags.DEFINE_string(
        "min_server_version",
        None,
        "The oldest TensorFlow Serving in use, for example 2.20: it and all newer ones must know every op; "
        "by default 2.12.",
    )
    flags.mark_flags_as_required(["model_base_path"])


def export_savedmodel(
    source,
    model_base_path,
    version: int | None = None,
    precision: str = "float32",
    min_server_version: str | None = None,
) -> dict:
    """Exports `source` to `model_base_path/<version>`; the folder appears only after all checks have passed.

    Args:
      source: the `RunDirectory` of a run, or a `LoadedModel`, whose task answers texts.
      model_base_path: folder of the model's versions, made if missing.
      version: the number, by default one more than the largest there.
      precision: "float32" or "bfloat16", see `AnsweringEncoder`.
      min_server_version: the oldest TensorFlow Serving in use, see `check_servable`.

    Returns:
      dict: path, version, precision, num_ops, text_ops (TF-Text ops used), oldest_server, bytes,
        max_difference from Keras in float32.

    Raises:
      ValueError: when the version exists, a weight or an answer is not finite, the gate refuses an op, or
        the answers differ.
    """
    base = Path(model_base_path)
    if base.exists() and not base.is_dir():
        raise ValueError(f"--model_base_path={base} is a file; give the folder of the model's versions.")
    version = version or _next_version(base)
    target = base / str(version)
    if target.exists():
        raise ValueError(f"{target} exists; choose another --version, or leave it out for the next free one.")

    from .answer_check import check_answers
    from .gate.op_gate import check_servable
    from .serving_model import ServingModel

    serving_model = ServingModel(source, precision)
    # Servers load every folder whose name is a number, so this one gets its name last.
    with whole_folder(target) as aside:
        serving_model.write(aside)
        report = check_servable(str(aside), min_server_version)
        report["precision"] = precision
        report["max_difference"] = check_answers(
            serving_model, aside, TOLERANCES[precision], grows=precision == "bfloat16"
        )
        _write_extra_assets(aside, serving_model, report)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    return {"path": str(target), "version": version, "bytes": size} | report


def _next_version(base) -> int:
    names = [path.name for path in base.iterdir()] if base.is_dir() else []
    return 1 + max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def _write_extra_assets(directory, serving_model, report):
    """What a person or a client may want to know; servers ignore assets.extra."""
    from .labels_file import write_labels

    extra, loaded = directory / "assets.extra", serving_model.loaded
    extra.mkdir(exist_ok=True)
    loaded.vocabulary.write(extra / "vocab.txt")
    write_labels(serving_model.labels, extra)
    about = {
        "task": serving_model.task.name,
        "labels": list(serving_model.labels),
        "max_seq_length": loaded.max_seq_length,
        "vocabulary": loaded.vocabulary.describe(),
        "run": str(serving_model.checkpoint),
    }
    write_json(about | report, extra / "kbert.json")


def main(argv):
    del argv
    source = source_of_flags()
    report = export_savedmodel(
        source, FLAGS.model_base_path, FLAGS.version, FLAGS.precision, FLAGS.min_server_version
    )
    print(json.dumps(report))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
