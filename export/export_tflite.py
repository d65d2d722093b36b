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

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from absl import logging

from kbert.checkpoints import formats
from kbert.checks import Share, with_checked_arguments
from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import activity
from kbert.config import FinetuningConfig, config_with_settings
from kbert.config.vectors_config import BY_HAND
from kbert.extras import require
from kbert.files.output_path import check_output_folder, other_files, require_free_folder
from kbert.files.whole_file import whole_folder, write_json, write_text
from kbert.reports.page import percent, render
from kbert.reports.text_table import text_table
from kbert.runs.columns_of_run import require_columns_of_model
from kbert.scripts.training_flags import Checkpoint
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES

from .folder_names import ABOUT_FILE, LABELS_FILE, MEDIAPIPE, TEXT, write_labels
from .litert import comparison_data, litert_source, measured_export, requests
from .source_flags import exported_model

POSITIONS = ("run_dir", "output_dir")  # of arguments without a flag

_FROM_TEXTS = ("mediapipe", "tokenizer_inside")  # flags of files that take texts, and keys of reports
_PAGE = "report.html"
_MODELS = [
    f"{start}_{name}.tflite" for start in ("model", MEDIAPIPE, TEXT) for name in requests.QUANTIZATIONS
]
_REPORTS = [f"model_{name}.json" for name in requests.QUANTIZATIONS]
_FILES = (_PAGE, ABOUT_FILE, LABELS_FILE, *VOCABULARY_FILES, *_MODELS, *_REPORTS)  # all that it may write
_CALLED = {"quantizations": "quantization", "max_seq_lengths": "max_seq_length"}  # parameter -> flag


def define_flags():
    declare_flags(exported_model, Checkpoint)
    declare_flags(export_tflite, called=_CALLED)
    define_json_flag()


@with_checked_arguments
def export_tflite(
    model,
    output_dir: str | Path,
    quantizations: Sequence[str] = ("float32", "dynamic_int8"),
    max_seq_lengths: Sequence[int] | None = None,
    overwrite: bool = False,
    eval_file: str | Path | None = None,
    min_agreement: Share = 0.99,
    mediapipe: bool = False,
    tokenizer_inside: bool = False,
    config: FinetuningConfig | str | Path | None = None,
    split: Literal["all", "dev"] = "all",
) -> dict:
    """Exports a fine-tuned model to LiteRT files.

    Args:
      model: the `RunDirectory`, or the `LoadedModel`, of a model that was fine-tuned on labelled files; or
        the `LoadedModel` of an encoder that says how a text becomes one vector.
      output_dir: folder for the .tflite files.
      quantizations: the files to write, of float32, float16 and dynamic_int8.
      max_seq_lengths: lengths in tokens, a signature for each on shared weights; by default the model's own
        and 16, 32, 64, ..., 512 below it. `mediapipe` and `tokenizer_inside` take one length, by default the
        model's own.
      overwrite: replace an `output_dir` that holds an earlier export.
      eval_file: labelled file to compare on. For a model of embeddings without `config`, a text in each line.
        Without it, a few fixed texts without labels.
      min_agreement: least share, from 0 to 1, of predictions that are the same as Keras's.
      mediapipe: also files that MediaPipe's TextClassifier and TextEmbedder take as they are. In Python they
        are called mediapipe_<quantization>.tflite, see docs/mobile.md.
      tokenizer_inside: also files that take texts: for apps that link three ops of TF-Text.
      config: for checkpoints: a fine-tuning config, whose [dataset] says how `eval_file` is read, and whose
        max_seq_length is the longest length. A model of embeddings needs none, or takes one for pairs of
        texts, such as stsb_embeddings.toml.
      split: dev: `eval_file` is the training file; only the examples that dev_split held out are taken.

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

    source = litert_source.to_litert_source(model, _read_config(config))
    _check_output_dir(output_dir, source, overwrite)
    requests.check_task(source)
    lengths = requests.checked_lengths(max_seq_lengths, source, several=not (mediapipe or tokenizer_inside))
    _warn_of_long_texts(source, lengths[-1])
    if source.task.pooling is not None:
        _warn_of_prompts(source.task.pooling)
    if mediapipe:
        requests.check_mediapipe(source, lengths)
    if tokenizer_inside:
        requests.check_tokenizer_inside(source, lengths)
    data = comparison_data.comparison_data(source, eval_file, lengths[-1], split == "dev")
    export = measured_export.MeasuredExport(source, lengths, data, min_agreement, mediapipe, tokenizer_inside)
    title = f"LiteRT files of {Path(source.path).resolve().name}"
    with whole_folder(output_dir, replace=overwrite) as aside:
        source.loaded.vocabulary.write_files(aside)
        write_labels(getattr(export.task, "labels", ()), aside)
        written = {}
        # The roughest first: what is refused costs the least time.
        for name in sorted(quantizations, key=requests.QUANTIZATIONS.index, reverse=True):
            with activity(f"{name}: conversion, comparison with Keras, latency"):
                written[name] = export.write(aside, name)
        reports = {name: written[name] for name in quantizations}
        best = source.loaded.training_config.best_metric or source.task.best_metric
        shown = {"reports": reports, "keras_metrics": export.keras_metrics, "best": best}
        write_text(render("litert.html", title=title, **shown), aside / _PAGE)
        write_json(_about(source, export.task, lengths, reports), aside / ABOUT_FILE)
    return {"path": str(output_dir)} | reports


def _about(source, task, lengths, reports) -> dict:
    """kbert.json: what a program on the phone needs to know."""
    keys = ("bytes", "crc32", "agreement", "max_difference")
    prompts = {} if task.pooling is None else task.pooling.prompt_settings
    return (
        TASKS.to_record(task, lengths[-1])
        | prompts
        | {
            "max_seq_length": lengths[-1],
            "lengths": list(lengths),
            "vocabulary": source.loaded.vocabulary.describe(),
            "files": {name: {key: report[key] for key in keys} for name, report in reports.items()},
        }
    )


def _check_output_dir(output_dir, source, overwrite):
    """Raises ValueError unless `output_dir` is free, or holds an earlier export that --overwrite replaces."""
    run = source.loaded.run
    check_output_folder(output_dir, formats.kept_files(run.path) if run else [Path(source.path)])
    require_free_folder(output_dir, overwrite, _other_files, "an export")


def _other_files(folder):
    """The files that are no part of an export; without models and `ABOUT_FILE` there is none."""
    is_export = (folder / ABOUT_FILE).is_file() and any(folder.glob("model_*.tflite"))
    return other_files(folder, _FILES if is_export else ())


def _warn_of_prompts(pooling):
    """Warns of prompts that an app has to put there, and of those behind which it gets other vectors."""
    skipped = pooling.skipped_tokens()
    others = [name for name in pooling.text_prompts if pooling.skipped_tokens(name) != skipped]
    if others:
        logging.warning(
            "behind %s the file gives other vectors than the model: %d tokens at the beginning of each text "
            "do not count in it, and behind these prompts it is another number.",
            ", ".join(map(repr, others)), skipped,
        )  # fmt: skip
    else:
        pooling.warn_of_named_prompts(BY_HAND)


def _warn_of_long_texts(source, length):
    if not source.task.serving.cuts_long_texts:
        logging.warning(
            "%s reads long texts as its task_settings.long_texts says, but the files take one row of at "
            "most %d tokens: give them short texts, or rows that your program cuts in the same way.",
            source.path, length,
        )  # fmt: skip


def main():
    require("litert", "kbert export-litert")
    source, arguments = flag_values(exported_model), flag_values(export_tflite, _CALLED)
    requests.check_quantizations(arguments["quantizations"])
    folder = Path(arguments["output_dir"])
    require_free_folder(folder, arguments["overwrite"], _other_files, "an export")
    config = _read_config(arguments["config"])
    if arguments["eval_file"]:
        path = source["run_dir"] or source["init_checkpoint"]
        require_columns_of_model(arguments["eval_file"], path, config)
    report = export_tflite(exported_model(**source), **arguments)
    shown = {"files": folder, "page": folder / _PAGE, "the same as JSON": folder / "model_*.json"}
    print_result(report, shown, _table({name: value for name, value in report.items() if name != "path"}))


def _read_config(config) -> FinetuningConfig | None:
    return None if config is None else config_with_settings(FinetuningConfig, config, {})


def _table(reports) -> str:
    """A row for each file: size, agreement with Keras, and milliseconds at its longest length, without the
    tokenization of files that take texts."""
    rows = [["file", "size", "same predictions as Keras", "longest row, 1 thread"]]
    for name, report in reports.items():
        length, by_threads = list(report["latency_ms"].items())[-1]
        milliseconds = f"{by_threads['1']:.2f} ms ({length} tokens)"
        for shown, file in ((name, report), *((key, report.get(key)) for key in _FROM_TEXTS)):
            if file:
                size = f"{file['bytes'] / 1e6:.2f} MB"
                rows.append([shown, size, percent(file["agreement"], 2), milliseconds])
    return text_table(rows)


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
