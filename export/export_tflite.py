r"""Script: a run or any checkpoint -> LiteRT (.tflite) files for phones, with quality measured.

  kbert export-litert --run_dir=runs/sst2 --output_dir=litert/sst2 \
      --quantization=float32,float16,dynamic_int8 --max_seq_length=16,24,64 --eval_file=sst2/dev.tsv
  kbert export-litert --init_checkpoint=hf://org/name --output_dir=litert/name \
      --config=configs/finetuning/sst2.toml --eval_file=sst2/dev.tsv
  kbert export-litert --init_checkpoint=all-MiniLM-L6-v2 --output_dir=litert/minilm \
      --eval_file=texts.txt

Writes model_<quantization>.tflite, whose inputs are token ids, with model_<quantization>.json beside it
(size, ops, speed, scores, agreement with Keras), report.html, vocab.txt, labels.txt and kbert.json (task,
casing, lengths). Every file is compared with the Keras model before output_dir appears; below --min_agreement
nothing is written. --mediapipe and --tokenizer_inside add files that take texts. docs/mobile.md has the
rest.
"""

from pathlib import Path

from absl import flags, logging

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.progress import activity
from kbert.config import FinetuningConfig, load_config
from kbert.extras import require
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import whole_folder, write_json, write_text

from .folder_names import ABOUT_FILE, write_labels
from .litert import requests
from .source_flags import define_source_flags, source_from_flags

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "output_dir")  # of arguments without a flag

_PAGE = "report.html"
MIN_AGREEMENT = 0.99


def define_flags():
    define_source_flags()
    flags.DEFINE_string(
        "config",
        None,
        "For checkpoints: a fine-tuning config, whose [dataset] says how --eval_file is read, and whose "
        "max_seq_length is the longest length. A model of embeddings needs none, or takes one for pairs of "
        "texts, such as stsb_embeddings.toml.",
    )
    flags.DEFINE_string("output_dir", None, "Folder for the .tflite files.")
    flags.DEFINE_list(
        "quantization",
        ["float32", "dynamic_int8"],
        f"The files to write, of {', '.join(requests.QUANTIZATIONS)}.",
    )
    flags.DEFINE_list(
        "max_seq_length",
        None,
        "Lengths in tokens, a signature for each on shared weights; by default the run's own and 16, 32, 64, "
        "..., 512 below it. --mediapipe and --tokenizer_inside take one length, by default the run's own.",
    )
    flags.DEFINE_string(
        "eval_file",
        None,
        "Labelled file to compare on. For a model of embeddings without --config, a text in each line. "
        "Without it, a few fixed texts without labels.",
    )
    flags.DEFINE_enum(
        "split",
        "all",
        ["all", "dev"],
        "dev: --eval_file is the training file; only the examples that dev_split held out are taken.",
    )
    flags.DEFINE_float(
        "min_agreement",
        MIN_AGREEMENT,
        "Least share, from 0 to 1, of predictions that are the same as Keras's.",
    )
    flags.DEFINE_bool(
        "mediapipe", False, "Also files that MediaPipe's TextClassifier and TextEmbedder take as they are."
    )
    flags.DEFINE_bool(
        "tokenizer_inside", False, "Also files that take texts: for apps that link three ops of TF-Text."
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output_dir that holds an earlier export.")
    define_json_flag()
    flags.mark_flags_as_required(["output_dir"])


def export_tflite(
    model,
    output_dir,
    quantizations,
    max_seq_lengths=None,
    overwrite=False,
    eval_file=None,
    min_agreement=MIN_AGREEMENT,
    mediapipe=False,
    tokenizer_inside=False,
    config: FinetuningConfig | None = None,
    held_out=False,
) -> dict:
    """Exports a fine-tuned model to LiteRT files.

    Args:
      model: the `RunDirectory`, or the `LoadedModel`, of a model that was fine-tuned on labelled files; or
        the `LoadedModel` of an encoder that says how a text becomes one vector.
      output_dir: must not exist, unless `overwrite` is given and it holds an earlier export.
      quantizations: one or more of "float32", "float16", "dynamic_int8".
      max_seq_lengths: the lengths of the signatures; see `requests.checked_lengths`.
      eval_file: labelled file in the form of the run, or of `config`; of an encoder without `config` a file
        with a text in each line; None compares on a few fixed texts.
      min_agreement: the least share of answers, by `Serving.same_answers`, that are those of Keras.
      mediapipe: also write mediapipe_<quantization>.tflite, see docs/mobile.md.
      tokenizer_inside: also write text_<quantization>.tflite, which takes texts.
      config: how labelled files are read, for a `LoadedModel`; see `to_litert_source`.
      held_out: compare only on the part of `eval_file`, the run's training file, that `dev_split` held out.

    Returns:
      dict: path, and for each quantization the report of its file: bytes, lengths, ops, latency_ms (length
      -> threads -> median), compared_on, metrics, keras_metrics, and what `comparison.compare` finds.

    Raises:
      ValueError: for an occupied output_dir, an unknown quantization, a model that LiteRT cannot answer
        for, a length that the encoder does not support, weights or answers that are not finite, ops that are
        not built in, a float32 file whose answers differ from Keras's, or too little agreement.
    """
    output_dir = Path(output_dir)
    require("litert", "an export to LiteRT")
    requests.check_quantizations(quantizations)
    requests.check_agreement(min_agreement)

    from kbert.reports.page import render

    from .litert.comparison_data import comparison_data
    from .litert.litert_source import to_litert_source
    from .litert.measured_export import MeasuredExport

    source = to_litert_source(model, config, eval_file)
    _check_output_dir(output_dir, source, overwrite)
    requests.check_task(source)
    lengths = requests.checked_lengths(max_seq_lengths, source, several=not (mediapipe or tokenizer_inside))
    _warn_of_long_texts(source, lengths[-1])
    if mediapipe:
        requests.check_mediapipe(source, lengths)
    if tokenizer_inside:
        requests.check_tokenizer_inside(source, lengths)
    data = comparison_data(source, eval_file, lengths[-1], held_out)
    export = MeasuredExport(source, lengths, data, min_agreement, mediapipe, tokenizer_inside)
    title = f"LiteRT files of {Path(source.path).resolve().name}"
    with whole_folder(output_dir, replace=overwrite) as aside:
        source.vocabulary.write_files(aside)
        write_labels(getattr(export.task, "labels", ()), aside)
        reports = {}
        for name in quantizations:
            with activity(f"{name}: conversion, comparison with Keras, latency"):
                reports[name] = export.write(aside, name)
        shown = {"reports": reports, "keras_metrics": export.keras_metrics, "best": source.best_metric}
        write_text(render("litert.html", title=title, **shown), aside / _PAGE)
        write_json(_about(source, export.task, lengths, reports), aside / ABOUT_FILE)
    return {"path": str(output_dir)} | reports


def _about(source, task, lengths, reports) -> dict:
    """kbert.json: what a program on the phone needs to know."""
    from kbert.tasks import TASKS

    keys = ("bytes", "agreement", "max_difference")
    return TASKS.to_record(task) | {
        "max_seq_length": lengths[-1],
        "lengths": list(lengths),
        "vocabulary": source.vocabulary.describe(),
        "files": {name: {key: report[key] for key in keys} for name, report in reports.items()},
    }


def _check_output_dir(output_dir, source, overwrite):
    """Raises ValueError unless `output_dir` is free, or holds an earlier export that --overwrite replaces."""
    check_output_folder(output_dir, source.files)
    _require_free(output_dir, overwrite)
    holds_export = (output_dir / ABOUT_FILE).is_file() and any(output_dir.glob("model_*.tflite"))
    if output_dir.exists() and not holds_export:
        raise ValueError(
            f"output_dir={output_dir} holds no earlier export, and overwrite replaces nothing else; "
            "choose another, or delete it yourself."
        )


def _require_free(output_dir, overwrite):
    if output_dir.exists() and not overwrite:
        raise ValueError(f"output_dir={output_dir} exists; choose another, or set overwrite.")


def _warn_of_long_texts(source, length):
    if not source.task.serving.cuts_long_texts:
        logging.warning(
            "%s reads long texts as its task_settings.long_texts says, but the files take one row of at "
            "most %d tokens: give them short texts, or rows that your program cuts in the same way.",
            source.path, length,
        )  # fmt: skip


def main():
    require("litert", "kbert export-litert")
    lengths = None if FLAGS.max_seq_length is None else requests.parse_lengths(FLAGS.max_seq_length)
    requests.check_quantizations(FLAGS.quantization)
    requests.check_agreement(FLAGS.min_agreement)
    _require_free(Path(FLAGS.output_dir), FLAGS.overwrite)
    config = load_config(FinetuningConfig, FLAGS.config) if FLAGS.config else None
    if FLAGS.eval_file:
        from kbert.runs.columns_of_run import require_columns_of_model  # late: it brings NumPy along

        require_columns_of_model(FLAGS.eval_file, FLAGS.run_dir or FLAGS.init_checkpoint, config)
    report = export_tflite(
        source_from_flags(),
        FLAGS.output_dir,
        FLAGS.quantization,
        lengths,
        FLAGS.overwrite,
        FLAGS.eval_file,
        FLAGS.min_agreement,
        FLAGS.mediapipe,
        FLAGS.tokenizer_inside,
        config,
        FLAGS.split == "dev",
    )
    folder = Path(FLAGS.output_dir)
    shown = {"files": folder, "page": folder / _PAGE, "the same as JSON": folder / "model_*.json"}
    print_result(report, shown, _table({name: value for name, value in report.items() if name != "path"}))


def _table(reports) -> str:
    """A row for each file: size, agreement with Keras, and milliseconds at its longest length."""
    from kbert.reports.text_table import text_table

    rows = [["file", "size", "same predictions as Keras", "longest row, 1 thread"]]
    for name, report in reports.items():
        length, by_threads = list(report["latency_ms"].items())[-1]
        milliseconds = f"{by_threads['1']:.2f} ms ({length} tokens)"
        rows.append([name, f"{report['bytes'] / 1e6:.2f} MB", f"{report['agreement']:.2%}", milliseconds])
    return text_table(rows)


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
