r"""Benchmark: text in, probabilities out: kbert's SavedModel beside Hugging Face, ONNX Runtime, OpenVINO.

  make bench-peers
  python -m benchmarks.serving
  python -m benchmarks.serving --encoder=bert_base --rounds=3
  python -m benchmarks.serving --contestants=kbert/bfloat16,onnx_runtime/int8

One classifier answers the same batches of texts of mixed lengths, tokenization included: MiniLM (6 layers,
384 wide) with a head of random weights; or that of --init_checkpoint; or with --encoder any shape with random
weights. Each contestant is a process of its own with as many threads, and answers its batches of one size
while the others wait. +one_thread takes one thread instead of --threads.

  kbert/float32, kbert/bfloat16     what export_savedmodel writes, by the session loader, as TensorFlow
                                    Serving loads it. +frozen sets TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1.
  litert/float32, /dynamic_int8     what export_tflite writes, one file with the lengths 16 to 128.
  hugging_face/float32, /bfloat16   PyTorch, fast tokenizer, padding to the longest. +compile compiles it.
  onnx_runtime/float32              the graph after ONNX Runtime's own optimizer for BERT.
  onnx_runtime/int8                 the graph quantized by its `quantize_dynamic`.
  openvino/float32, /bfloat16       the model that PyTorch has, read by OpenVINO; /int8 by `nncf.quantize`,
                                    +bfloat16 with its other part in bfloat16.

The table has medians in milliseconds, and how the answers of each differ from Hugging Face's in float32.
"""

import tempfile
from pathlib import Path

from absl import flags

from benchmarks.answers import differences, median_milliseconds, mixed_texts
from benchmarks.report import close, machine, markdown
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import (
    chosen_contestants,
    define_contestant_flags,
    find_minilm,
    parts_of,
)
from kbert.cli import script
from kbert.config import EncoderConfig, encoder_presets, from_dict

FLAGS = flags.FLAGS

_DEFAULT = (
    "kbert/float32",
    "kbert/bfloat16",
    "hugging_face/float32",
    "hugging_face/bfloat16",
    "onnx_runtime/float32",
    "onnx_runtime/int8",
    "openvino/bfloat16",
    "openvino/int8",
)
CONTESTANTS = (
    *_DEFAULT,
    "kbert/float32+frozen",
    "kbert/bfloat16+frozen",
    "kbert/bfloat16+one_thread",
    "kbert/bfloat16+frozen+one_thread",
    "litert/float32",
    "litert/dynamic_int8",
    "litert/dynamic_int8+one_thread",
    "hugging_face/float32+compile",
    "hugging_face/bfloat16+compile",
    "openvino/float32",
    "openvino/int8+bfloat16",
)
BATCH_SIZES, MAX_SEQ_LENGTH = (1, 8, 32), 128
LITERT_LENGTHS = (16, 24, 32, 48, 64, 96, 128)


def define_flags():
    define_contestant_flags(CONTESTANTS, _DEFAULT)
    flags.DEFINE_string("init_checkpoint", None, "A classifier, or an encoder; by default the peers' MiniLM.")
    flags.DEFINE_enum("encoder", None, encoder_presets(), "A shape with random weights instead.")
    flags.DEFINE_integer("num_batches", 12, "Different requests of each size.", lower_bound=1)
    flags.DEFINE_integer("rounds", 8, "Times that each request is timed.", lower_bound=1)


def main():
    names = chosen_contestants(CONTESTANTS)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = write_models(Path(folder), names) | {
            "batches": {size: batches(size, FLAGS.num_batches) for size in BATCH_SIZES},
            "rounds": FLAGS.rounds + 1,
            "max_seq_length": MAX_SEQ_LENGTH,
        }
        with started(names, "serving", settings) as workers:
            alternate(workers, None, FLAGS.num_batches)
            rows = figures({worker.name: worker.record for worker in workers}, FLAGS.rounds + 1)
    print(table(rows))
    close("serving", rows)


def batches(size: int, number: int) -> list[list[str]]:
    """`number` batches of `size` texts, all of them different."""
    texts = mixed_texts(size * number)
    return [texts[at : at + size] for at in range(0, len(texts), size)]


def write_models(folder: Path, names) -> dict:
    """Writes the classifier for every contestant; returns their settings."""
    from benchmarks.workers.starting_point import write_classifier, write_litert
    from export.export_savedmodel import export_savedmodel
    from kbert.inference.loading import load
    from kbert.runs.run_directory import RunDirectory

    source = FLAGS.init_checkpoint or find_minilm()
    encoder = from_dict(EncoderConfig, {"preset": FLAGS.encoder}) if FLAGS.encoder else None
    written = write_classifier(folder, source, encoder, MAX_SEQ_LENGTH)
    run = RunDirectory(written["run_dir"])
    for precision in {parts_of(name)[1] for name in names if name.startswith("kbert")}:
        exported = export_savedmodel(run, folder / "savedmodel" / precision, precision=precision)
        written[f"savedmodel_{precision}"] = exported["path"]
    return written | write_litert(folder, load(written["run_dir"]), LITERT_LENGTHS, names)


def figures(records: dict, rounds: int) -> dict:
    """name -> medians by batch size, peak memory, and how its answers differ."""
    answers = {name: record.result["answers"] for name, record in records.items()}
    expected = answers.get("hugging_face/float32", next(iter(answers.values())))
    return {
        name: {
            "milliseconds": median_milliseconds(record.steps, rounds),
            "megabytes": record.peak_megabytes,
            **differences(answers[name], expected),
        }
        for name, record in records.items()
    }


def table(rows: dict) -> str:
    heads = [
        "ms",
        *(f"batch {size}" for size in BATCH_SIZES),
        "labels agree",
        "largest difference",
        "peak MB",
    ]
    return markdown(
        heads,
        [
            [
                name,
                *(f"{row['milliseconds'][size]:.1f}" for size in BATCH_SIZES),
                f"{100 * row['agreement']:.1f} %",
                f"{row['max_difference']:.1g}",
                f"{row['megabytes']:,.0f}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
