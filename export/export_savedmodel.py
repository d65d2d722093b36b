r"""Script: a run directory -> a SavedModel that stock TensorFlow Serving loads, text in, answer out.

  python -m export.export_savedmodel --run_dir=runs/sst2 --model_base_path=serving/sst2

Writes model_base_path/<version>/. The folder gets this name only after two checks: the op gate (all ops are
known to stock TF Serving with TF-Text 2.12.1), and the session loader, which must give the Keras model's
answers.
"""

import json
import shutil
from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.files.whole_file import whole_folder, write_json

FLAGS = flags.FLAGS

# Differences from the Keras answer up to this are rounding. bfloat16 has 8 bits, and rounds between all ops:
# its bound grows with the largest number of the outputs, once that is above 1.
TOLERANCES = {"float32": 1e-5, "bfloat16": 0.1}
_CHECK_TEXTS = ["a short text", "Ein größerer Text, with [MASK] and 漢字.", "", "long " * 600]


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run to export.")
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
    flags.mark_flags_as_required(["run_dir", "model_base_path"])


def export_savedmodel(
    run,
    model_base_path,
    version: int | None = None,
    precision: str = "float32",
    min_server_version: str | None = None,
) -> dict:
    """Exports `run` to `model_base_path/<version>`; the folder appears only after all checks have passed.

    Args:
      run: a `RunDirectory` of a run whose task answers texts.
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

    from .gate.op_gate import check_servable
    from .serving_model import ServingModel

    serving_model = ServingModel(run, precision)
    # Servers load every folder whose name is a number, so this one gets its name last.
    with whole_folder(target) as aside:
        serving_model.write(aside)
        report = check_servable(str(aside), min_server_version)
        report["precision"] = precision
        report["max_difference"] = _check_answers(serving_model, aside, precision)
        _write_extra_assets(aside, serving_model, run, report)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    return {"path": str(target), "version": version, "bytes": size} | report


def _next_version(base) -> int:
    names = [path.name for path in base.iterdir()] if base.is_dir() else []
    return 1 + max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def _check_answers(serving_model, directory, precision) -> float:
    """Largest difference between Keras and the session loader, on plain, Unicode, empty and long texts."""
    import numpy as np
    import tensorflow as tf

    from kbert.inference.finite_numbers import require_finite_answers

    from .gate.session_check import run_signature

    signature = serving_model.trained_signatures["serving_default"]
    inputs = {name: _check_input(name, dtype, shape) for name, (dtype, shape) in signature.inputs.items()}
    served = run_signature(str(directory), "serving_default", inputs)
    expected = signature.function(**{name: tf.constant(values) for name, values in inputs.items()})
    differences, largest = [0.0], 1.0
    for name, value in expected.items():
        if value.dtype.is_floating:
            require_finite_answers(value.numpy(), serving_model.source)
            value = value.numpy()
            differences.append(float(np.abs(served[name] - value).max()))
            largest = max(largest, float(np.abs(value).max()))
    tolerance = TOLERANCES[precision] * (largest if precision == "bfloat16" else 1.0)
    if not max(differences) <= tolerance:
        raise ValueError(
            f"the exported model answers differently from the Keras model: its numbers differ by up to "
            f"{max(differences):.2g}, more than {tolerance:.2g}. Nothing was exported."
        )
    return max(differences)


def _check_input(name, dtype, shape):
    """Input values for the check: the texts, in reverse order for a second text; 2 for a number."""
    import numpy as np

    if dtype != "string":
        return np.array(2, dtype)
    texts = _CHECK_TEXTS if name == "text" else _CHECK_TEXTS[::-1]
    if len(shape) == 1:
        return np.array(texts, object)
    return np.array([[text] * (shape[1] or 3) for text in texts], object)


def _write_extra_assets(directory, serving_model, run, report):
    """What a person or a client may want to know; servers ignore assets.extra."""
    extra = directory / "assets.extra"
    extra.mkdir(exist_ok=True)
    shutil.copy(run.path / "vocab.txt", extra / "vocab.txt")
    about = {
        "task": serving_model.task.name,
        "labels": list(getattr(serving_model.task, "labels", ())),
        "max_seq_length": run.details["max_seq_length"],
        "vocabulary": run.details["vocabulary"],
        "run": str(run.checkpoint()),
    }
    write_json(about | report, extra / "kbert.json")


def main(argv):
    del argv
    from kbert.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.run_dir)
    report = export_savedmodel(
        run, FLAGS.model_base_path, FLAGS.version, FLAGS.precision, FLAGS.min_server_version
    )
    print(json.dumps(report))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
