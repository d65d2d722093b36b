r"""Script: a run directory -> LiteRT (.tflite) files for classification on phones.

  python -m export.export_tflite --run_dir=runs/sst2 --output_dir=litert/sst2 \
      --quantization=float32,dynamic_int8

Writes model_<quantization>.tflite, whose inputs are token ids, vocab.txt, labels.txt and kbert.json
(casing, length). Each file is compared with the Keras model on a few texts before output_dir appears.
"""

import json
import shutil
from pathlib import Path

from absl import flags, logging

from kbert import command_line
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import whole_folder, write_json

from .labels_file import write_labels

FLAGS = flags.FLAGS

_ABOUT_FILE = "kbert.json"
_CHECK_TEXTS = ["a short text", "Another text, somewhat longer than the first one.", "x"]


def define_flags():
    flags.DEFINE_string("run_dir", None, "The classification run to export.")
    flags.DEFINE_string("output_dir", None, "Folder for the .tflite files.")
    flags.DEFINE_list("quantization", ["float32", "dynamic_int8"], "Of float32, float16, dynamic_int8.")
    flags.DEFINE_integer("max_seq_length", None, "Fixed input length; by default the run's.", lower_bound=4)
    flags.DEFINE_bool("overwrite", False, "Replace an output_dir that holds an earlier export.")
    flags.mark_flags_as_required(["run_dir", "output_dir"])


def export_tflite(run, output_dir, quantizations, max_seq_length=None, overwrite=False) -> dict:
    """Exports a classification run to LiteRT files.

    Args:
      run: a `RunDirectory` of a classification run.
      output_dir: must not exist, unless `overwrite` is given and it holds an earlier export.
      quantizations: one or more of "float32", "float16", "dynamic_int8".
      max_seq_length: the fixed input length, by default the run's.

    Returns:
      dict: path, and for each quantization its file's bytes and max_difference from Keras's
      probabilities on a few texts.

    Raises:
      ValueError: for an occupied output_dir, an unknown quantization, a task without probabilities, a length
        that the encoder does not support, weights or answers that are not finite, or a float32 file whose
        answers differ from Keras's.
    """
    output_dir = Path(output_dir)
    _check_output_dir(output_dir, run, overwrite)
    task = run.task()
    if "probabilities" not in task.answers or "choices" in task.inputs:
        raise ValueError(
            f"{run.path} is a {task.name} run; LiteRT export needs a run that gives probabilities for texts."
        )
    length = max_seq_length or run.config.max_seq_length
    if not task.cuts_long_texts:
        logging.warning(
            "%s reads long texts as its task_settings.long_texts says, but the files answer one row of at "
            "most %d pieces: give them short texts, or rows that your program makes alike.",
            run.path, length,
        )  # fmt: skip
    if length > run.config.encoder.max_position_embeddings:
        raise ValueError(
            f"max_seq_length={length} is more than the encoder's max_position_embeddings="
            f"{run.config.encoder.max_position_embeddings}."
        )

    from .litert_model import QUANTIZATIONS, convert_to_litert

    unknown = [name for name in quantizations if name not in QUANTIZATIONS]
    if unknown or not quantizations:
        raise ValueError(f"--quantization={unknown} is not known; choose from {', '.join(QUANTIZATIONS)}.")
    from kbert.tasks import TASKS

    task, model = run.load_model()
    report = {}
    with whole_folder(output_dir, replace=overwrite) as aside:
        for quantization in quantizations:
            path = aside / f"model_{quantization}.tflite"
            path.write_bytes(convert_to_litert(model, length, quantization))
            difference = _difference(run, model, path, length)
            if quantization == "float32" and not difference <= 1e-5:
                raise ValueError(
                    f"the float32 file differs from Keras by {difference:.2g}; nothing was exported."
                )
            report[quantization] = {"bytes": path.stat().st_size, "max_difference": difference}
        shutil.copy(run.path / "vocab.txt", aside / "vocab.txt")
        write_labels(task.labels, aside)
        about = {"max_seq_length": length, "vocabulary": run.details["vocabulary"], "files": report}
        write_json(TASKS.record_of(task) | about, aside / _ABOUT_FILE)
    return {"path": str(output_dir)} | report


def _check_output_dir(output_dir, run, overwrite):
    """Raises ValueError unless `output_dir` is free, or holds an earlier export that --overwrite replaces."""
    inputs = ("run.json", "config.json", "vocab.txt", "checkpoints")
    check_output_folder(output_dir, [run.path / name for name in inputs])
    if not output_dir.exists():
        return
    if not overwrite:
        raise ValueError(f"--output_dir={output_dir} exists; choose another, or give --overwrite.")
    if not (output_dir / _ABOUT_FILE).is_file() or not list(output_dir.glob("model_*.tflite")):
        raise ValueError(
            f"--output_dir={output_dir} holds no earlier export, and --overwrite replaces nothing else; "
            "choose another, or delete it yourself."
        )


def _difference(run, model, path, length) -> float:
    import numpy as np
    import tensorflow as tf

    from kbert.inference.finite_numbers import require_finite_answers
    from kbert.tokenization.text_inputs import TextInputs

    from .litert_model import LiteRTClassifier

    vocabulary = run.vocabulary()
    pairs = _CHECK_TEXTS[::-1] if run.config.dataset.text_pair else None
    inputs = TextInputs(vocabulary, length)(tf.constant(_CHECK_TEXTS), pairs and tf.constant(pairs))
    expected = model(inputs, training=False)["probabilities"].numpy()
    require_finite_answers(expected, run.path)
    return float(np.abs(LiteRTClassifier(path, vocabulary)(_CHECK_TEXTS, pairs) - expected).max())


def main(argv):
    del argv
    from kbert.runs.run_directory import RunDirectory

    report = export_tflite(
        RunDirectory(FLAGS.run_dir),
        FLAGS.output_dir,
        FLAGS.quantization,
        FLAGS.max_seq_length,
        FLAGS.overwrite,
    )
    print(json.dumps(report))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
