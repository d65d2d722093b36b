r"""Benchmark: text in, probabilities out: kbert's SavedModel beside Hugging Face and ONNX Runtime.

  make bench-peers
  python -m benchmarks.serving
  python -m benchmarks.serving --encoder=bert_base --rounds=3
  python -m benchmarks.serving --contestants=kbert/bfloat16,onnx_runtime/int8

One classifier answers the same batches of texts of mixed lengths, tokenization included: MiniLM (6 layers,
384 wide) with a head of random weights; or that of --init_checkpoint; or with --encoder any shape with random
weights. Each contestant is a process of its own with as many threads, and answers its batches of one size
while the others wait.

  kbert/float32, kbert/bfloat16     what export_savedmodel writes, by the session loader, as TensorFlow
                                    Serving loads it. +frozen sets TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1.
  hugging_face/float32, /bfloat16   PyTorch, fast tokenizer, padding to the longest. +compile compiles it.
  onnx_runtime/float32              the graph after ONNX Runtime's own optimizer for BERT.
  onnx_runtime/int8                 the graph quantized by its `quantize_dynamic`.

The table has medians in milliseconds, and how the answers of each differ from Hugging Face's in float32.
"""

import pydoc_data.topics
import random
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.finetuning import find_minilm
from benchmarks.report import close, fit_for_machine, machine
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line
from kbert.config import EncoderConfig, encoder_presets, from_dict

FLAGS = flags.FLAGS

CONTESTANTS = (
    "kbert/float32",
    "kbert/bfloat16",
    "hugging_face/float32",
    "hugging_face/bfloat16",
    "onnx_runtime/float32",
    "onnx_runtime/int8",
)
_OPTIONS = {"kbert": "frozen", "hugging_face": "compile"}
_PEERS = ("hugging_face", "onnx_runtime")
_SHORTEST, _LONGEST = 20, 400


def define_flags():
    flags.DEFINE_list("contestants", fit_for_machine(CONTESTANTS), "Who takes part, see above.")
    flags.DEFINE_string("init_checkpoint", None, "A classifier, or an encoder; by default the peers' MiniLM.")
    flags.DEFINE_enum("encoder", None, encoder_presets(), "A shape with random weights instead.")
    flags.DEFINE_string(
        "input_file", None, "A file with a text on each line; by default Python's own manual."
    )
    flags.DEFINE_list("batch_sizes", ["1", "8", "32"], "Texts of a request.")
    flags.DEFINE_integer("num_batches", 12, "Different requests of each size.", lower_bound=1)
    flags.DEFINE_integer("rounds", 8, "Times that each request is timed.", lower_bound=1)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of a text at most.", lower_bound=4)
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)
    environments.define_flags(*_PEERS)


def main(argv):
    del argv
    sizes = [int(size) for size in FLAGS.batch_sizes]
    texts = mixed_texts(FLAGS.input_file)
    pythons = environments.pythons(*_PEERS)
    names = [name for name in map(checked, FLAGS.contestants) if system_of(name) in {"kbert", *pythons}]
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        models = write_models(Path(folder), names, pythons)
        settings = models | {
            "batches": {size: batches(texts, size) for size in sizes},
            "rounds": FLAGS.rounds + 1,
            "max_seq_length": FLAGS.max_seq_length,
        }
        workers = {}
        for name in names:
            worker = Contestant(name, command_of(name, pythons), settings | own_settings(name), FLAGS.threads)
            stack.callback(worker.close)
            print(f"  {name}: {worker.record.facts}", flush=True)
            workers[name] = worker
        alternate(list(workers.values()), None, FLAGS.num_batches)
        results = {name: figures(worker.record, sizes) for name, worker in workers.items()}
    compare(results)
    print(table(results, sizes))
    close("serving", results)


def checked(name: str) -> str:
    """`name`, when it is one of CONTESTANTS, with or without its option.

    Raises:
      ValueError: for another name.
    """
    plain, _, option = name.partition("+")
    if plain not in CONTESTANTS or option not in ("", _OPTIONS.get(system_of(name))):
        options = ", ".join(f"{system}/...+{option}" for system, option in _OPTIONS.items())
        raise ValueError(
            f"--contestants names {name!r}; choose among {', '.join(CONTESTANTS)}; also {options}."
        )
    return name


def system_of(name: str) -> str:
    """ "kbert/float32+frozen" -> "kbert"."""
    return name.split("/")[0]


# ------------------------------------------------------------------------------ the work


def mixed_texts(file: str | None) -> list[str]:
    """Texts of 20 to 400 characters in a fixed random order: of `file`, or sentences of Python's manual."""
    if file:
        texts = Path(file).read_text(encoding="utf-8").splitlines()
    else:
        pages = " \n".join(pydoc_data.topics.topics.values()).split("\n\n")
        texts = [text for page in pages for text in " ".join(page.split()).split(". ")]
    texts = sorted({text for text in texts if _SHORTEST <= len(text) <= _LONGEST})
    random.Random(1).shuffle(texts)
    return texts


def batches(texts: list[str], size: int) -> list[list[str]]:
    """`--num_batches` batches of `size` different texts.

    Raises:
      ValueError: when there are too few texts.
    """
    if len(texts) < size * FLAGS.num_batches:
        raise ValueError(
            f"{FLAGS.num_batches} batches of {size} need {size * FLAGS.num_batches} texts of {_SHORTEST} to "
            f"{_LONGEST} characters, there are {len(texts)}; lower --num_batches or --batch_sizes."
        )
    return [texts[at : at + size] for at in range(0, size * FLAGS.num_batches, size)]


def write_models(folder: Path, names, pythons) -> dict:
    """Writes the classifier for every contestant; returns their settings."""
    from benchmarks.workers.starting_point import write_classifier
    from export.export_savedmodel import export_savedmodel
    from kbert.runs.run_directory import RunDirectory

    source = FLAGS.init_checkpoint or find_minilm(pythons)
    encoder = from_dict(EncoderConfig, {"preset": FLAGS.encoder}) if FLAGS.encoder else None
    places = write_classifier(folder, source, encoder, FLAGS.max_seq_length)
    run = RunDirectory(places["run_dir"])
    for precision in {"float32", "bfloat16"} & {own_settings(name)["precision"] for name in names}:
        exported = export_savedmodel(run, folder / "savedmodel" / precision, precision=precision)
        places[f"savedmodel_{precision}"] = exported["path"]
    return places


def own_settings(name: str) -> dict:
    """The settings of this contestant alone."""
    precision, _, option = name.split("/")[1].partition("+")
    return {"precision": precision, "option": option}


def command_of(name: str, pythons) -> list[str]:
    """The command of a contestant's worker."""
    system = system_of(name)
    if system == "kbert":
        return [sys.executable, "-m", "benchmarks.workers.kbert_serving"]
    script = REPOSITORY / "benchmarks" / "peers" / f"{system}_serving.py"
    return [pythons[system], str(script)]


# ------------------------------------------------------------------------------ report


def figures(record, sizes) -> dict:
    """Medians in milliseconds by batch size, without the first round; probabilities; peak memory."""
    timed = record.steps[len(sizes) * FLAGS.num_batches :]
    medians = {
        size: 1e3 * statistics.median(step["seconds"] for step in timed if step["size"] == size)
        for size in sizes
    }
    return {"medians": medians, "megabytes": record.peak_megabytes} | record.result


def compare(results: dict):
    """Replaces the probabilities by the largest difference and the share of labels that agree."""
    answers = {name: np.array(result.pop("answers")) for name, result in results.items()}
    expected = answers.get("hugging_face/float32", next(iter(answers.values())))
    for name, found in answers.items():
        results[name]["max_difference"] = float(np.abs(found - expected).max())
        results[name]["agreement"] = float((found.argmax(-1) == expected.argmax(-1)).mean())


def table(results: dict, sizes) -> str:
    """Markdown: a row for every contestant."""
    heads = "".join(f" batch {size} |" for size in sizes)
    rows = [
        f"| ms |{heads} labels agree | largest difference | peak MB |",
        "|---|" + "---:|" * (len(sizes) + 3),
    ]
    for name, result in results.items():
        cells = "".join(f" {result['medians'][size]:.1f} |" for size in sizes)
        rows.append(
            f"| {name} |{cells} {100 * result['agreement']:.1f} % | {result['max_difference']:.1g} | "
            f"{result['megabytes']:,.0f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
