r"""Script: the whole road on the text that every Python brings along.

  python -m kbert.scripts.quickstart --directory=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. Every step is one of kbert's own commands, printed as you would type it; what it
says lies in logs/. At the end: a table, results.json, a picture of the curves, and one HTML page.
"""

import importlib
import importlib.metadata
import json
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.export_package import export_package
from kbert.files.whole_file import write_json
from kbert.shipped_configs import configs_directory

FLAGS = flags.FLAGS

_MARKER = ".kbert_quickstart"  # says that a folder is ours to write anew
_EXPORT = export_package()
_LENGTHS = ["--max_seq_length=32", "--max_predictions_per_seq=5"]
_FILL_MASK_TEXTS = [
    "Return the number of [MASK] in the list.",
    "This method raises a [MASK] if the key is not found.",
    "If the file does not [MASK], an exception is raised.",
    "The [MASK] is closed when the connection is lost.",
]
_QUESTION = "Return a new socket connected to the mail server at the given host and port."
_TIMED_CALLS = 30


def define_flags():
    flags.DEFINE_string("directory", "quickstart_run", "Where everything is written.")


class Road:
    """Runs the steps one by one, each a command of its own.

    Args:
      directory: where the steps write.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self.steps = []
        self._began = time.monotonic()

    def step(self, title: str, module: str, *arguments: str) -> str:
        """Runs `python -m module arguments`, shows what it says, and returns its standard output.

        Raises:
          ValueError: when the command fails; its log is named.
        """
        number = len(self.steps) + 1
        shown = f"python -m {module} {' '.join(_quoted(argument) for argument in arguments)}"
        log = self.directory / "logs" / f"{number:02d}_{module.rpartition('.')[2]}.log"
        print(f"\n[{number:2d}] {title}\n     $ {shown}", flush=True)
        began = time.monotonic()
        lines = []
        command = [sys.executable, "-m", module, *arguments]
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
            )
            for line in process.stdout:
                file.write(line)
                lines.append(line)
                print("     " + line.rstrip("\n")[:130], flush=True)
        seconds = time.monotonic() - began
        if process.wait():
            raise ValueError(
                f"step {number} ({title}) failed with exit code {process.returncode}; see {log}."
            )
        self.steps.append(
            {
                "title": title,
                "command": shown,
                "seconds": round(seconds, 1),
                "log": str(log.relative_to(self.directory)),
            }
        )
        print(f"     {seconds:.1f} s, {self.total_seconds:.0f} s so far", flush=True)
        return "".join(lines)

    @property
    def total_seconds(self) -> float:
        return time.monotonic() - self._began


def quickstart(directory: Path) -> dict:
    """Walks the road and returns the results, which are also written to `directory/results.json`."""
    _prepare(directory)
    road = Road(directory)
    at = {
        "corpus": directory / "text",
        "vocabulary": directory / "vocab.txt",
        "records": directory / "records",
        "pretraining run": directory / "pretraining",
        "classifier run": directory / "classifier",
        "classifier without pretraining": directory / "classifier_from_scratch",
        "SavedModel": directory / "serving" / "library_area",
        "LiteRT": directory / "litert",
        "this page": directory / "index.html",
    }
    _make_data(road, at)
    _train(road, at)
    results = {
        "kbert_version": _version(),
        "python": platform.python_version(),
        "tensorflow": importlib.metadata.version("tensorflow"),
        "cores": _cores(),
        "directory": str(directory.resolve()),
        "paths": {name: str(path) for name, path in at.items()},
        **_measure_models(road, at),
        **_export(road, at),
    }
    results["answers"] = _ask_every_road(at, road)
    results["steps"] = road.steps
    results["total_seconds"] = round(road.total_seconds, 1)
    _write_reports(directory, at, results)
    return results


def _prepare(directory):
    if directory.exists() and any(directory.iterdir()):
        if not (directory / _MARKER).is_file():
            raise ValueError(
                f"--directory={directory} holds other files; choose a new folder for the quickstart."
            )
        print(f"removing the earlier quickstart in {directory}")
        shutil.rmtree(directory)
    (directory / "logs").mkdir(parents=True, exist_ok=True)
    (directory / _MARKER).touch()


def _make_data(road, at):
    text = at["corpus"]
    road.step(
        "Text: the prose of Python's own documentation, and passages labelled by library area",
        "tfrecords_tools.write_embedded_text",
        f"--output_dir={text}",
    )
    road.step(
        "Vocabulary: WordPieces learned from the text",
        "tfrecords_tools.build_vocabulary",
        f"--input_files={text}/text/train.txt",
        f"--output_file={at['vocabulary']}",
        "--vocab_size=6000",
        "--num_unused_tokens=10",
    )
    for split, dupe_factor, num_shards in (("train", 5, 8), ("heldout", 5, 1)):
        road.step(
            f"Pretraining records, {split}: masked tokens and sentence pairs as TFRecords",
            "tfrecords_tools.create_pretraining_data",
            f"--input_files={text}/text/{split}.txt",
            f"--vocab_file={at['vocabulary']}",
            f"--output_dir={at['records']}/{split}",
            *_LENGTHS,
            f"--dupe_factor={dupe_factor}",
            f"--num_shards={num_shards}",
        )


def _train(road, at):
    road.step(
        "Pretraining: masked LM and next sentence",
        "kbert.scripts.run_pretraining",
        f"--input_dir={at['records']}/train",
        f"--eval_input_dir={at['records']}/heldout",
        f"--config={_config('pretraining/smoke.json')}",
        f"--run_dir={at['pretraining run']}",
    )
    for title, name, extra in (
        ("Fine-tuning: which area of the library does a passage describe?", "classifier run", []),
        ("The control: the same without pretraining", "classifier without pretraining", ["--from_scratch"]),
    ):
        road.step(
            title,
            "kbert.scripts.run_finetuning",
            f"--train_file={at['corpus']}/labelled/train.tsv",
            f"--dev_file={at['corpus']}/labelled/dev.tsv",
            f"--config={_config('finetuning/smoke.json')}",
            f"--init_checkpoint={at['pretraining run']}",
            f"--run_dir={at[name]}",
            *extra,
        )


def _measure_models(road, at):
    masked_lm = _last_json(
        road.step(
            "Evaluation: masked LM on held-out text",
            "kbert.scripts.run_evaluation",
            f"--run_dir={at['pretraining run']}",
            f"--input_dir={at['records']}/heldout",
        )
    )
    filled = road.step(
        "Prediction: filling masks",
        "kbert.scripts.run_prediction",
        f"--run_dir={at['pretraining run']}",
        *(f"--text={text}" for text in _FILL_MASK_TEXTS),
    )
    tests = {
        name: _last_json(
            road.step(
                f"Evaluation: the {name} on modules it has not seen",
                "kbert.scripts.run_evaluation",
                f"--run_dir={at[name]}",
                f"--eval_file={at['corpus']}/labelled/test.tsv",
            )
        )
        for name in ("classifier run", "classifier without pretraining")
    }
    return _figures(at, masked_lm, filled, tests)


def _figures(at, masked_lm, filled, tests):
    """What the runs measured, from their own files."""
    from kbert.manifest import read_manifest
    from kbert.runs.metrics_file import read_metrics
    from kbert.runs.run_directory import RunDirectory

    manifest = read_manifest(at["records"] / "train")
    pretraining, classifier = RunDirectory(at["pretraining run"]), RunDirectory(at["classifier run"])
    rates = [
        line["examples_per_second"]
        for line in read_metrics(pretraining.metrics_file)
        if line["split"] == "train"
    ]
    pretrained = tests["classifier run"]
    return {
        "corpus": {name: manifest.statistics[name] for name in ("documents", "sentences", "tokens")}
        | {"examples": manifest.num_examples},
        "vocabulary": {
            "size": manifest.vocabulary["size"],
            "unknown_share": manifest.statistics["unknown_share"],
        },
        "pretraining": masked_lm
        | {
            "num_train_steps": pretraining.config.num_train_steps,
            "examples_per_second": statistics.median(rates),
            "num_parameters": _num_weights(pretraining),
        },
        "fill_mask": [json.loads(line) for line in filled.splitlines() if line.startswith("{")],
        "classifier": {
            "labels": list(classifier.config.dataset.labels),
            "num_train_examples": classifier.details["num_train_examples"],
            "num_test_examples": pretrained["num_examples"],
            "baseline_accuracy": pretrained["baseline_accuracy"],
            "pretrained": pretrained,
            "from_scratch": tests["classifier without pretraining"],
        },
    }


def _export(road, at):
    saved_model = _last_json(
        road.step(
            "Export: a SavedModel with tokenization in the graph",
            f"{_EXPORT}.export_savedmodel",
            f"--run_dir={at['classifier run']}",
            f"--model_base_path={at['SavedModel']}",
        )
    )
    litert = _last_json(
        road.step(
            "Export: LiteRT files",
            f"{_EXPORT}.export_tflite",
            f"--run_dir={at['classifier run']}",
            f"--output_dir={at['LiteRT']}",
            "--quantization=float32,dynamic_int8",
        )
    )
    from kbert.runs.checkpoint import WEIGHTS_FILE
    from kbert.runs.run_directory import RunDirectory

    weights = RunDirectory(at["classifier run"]).checkpoint() / WEIGHTS_FILE
    return {
        "sizes": [
            {"what": "checkpoint, weights only", "bytes": weights.stat().st_size},
            {"what": "SavedModel, with tokenizer", "bytes": saved_model["bytes"]},
            {"what": "LiteRT float32", "bytes": litert["float32"]["bytes"]},
            {"what": "LiteRT dynamic int8", "bytes": litert["dynamic_int8"]["bytes"]},
        ]
    }


def _ask_every_road(at, road):
    """The same sentence through Keras, the SavedModel, the server's two doors, and LiteRT."""
    import numpy as np

    from kbert.inference.text_classifier import TextClassifier
    from kbert.runs.run_directory import RunDirectory

    load_session, run_loaded = _exporter("gate.session_check", "load_session", "run_loaded")
    (LiteRTClassifier,) = _exporter("litert_model", "LiteRTClassifier")
    predict_grpc, predict_rest = _exporter("serving_client", "predict_grpc", "predict_rest")
    name, base = at["SavedModel"].name, at["SavedModel"]
    print(f"\n     The same sentence on every road: {_QUESTION!r}", flush=True)
    run = RunDirectory(at["classifier run"])
    classifier, session = TextClassifier(run), load_session(str(base / "1"))
    floats = LiteRTClassifier(at["LiteRT"] / "model_float32.tflite", run.vocabulary())
    small = LiteRTClassifier(at["LiteRT"] / "model_dynamic_int8.tflite", run.vocabulary())
    text = {"text": np.array([_QUESTION], object)}
    with _DevelopmentServer(base, name, road.directory / "logs") as server:
        roads = {
            "Keras (Python)": lambda: classifier.outputs([_QUESTION])["probabilities"].numpy(),
            "SavedModel, session loader": lambda: run_loaded(session, "serving_default", text)[
                "probabilities"
            ],
            "development server, gRPC": lambda: predict_grpc(server.grpc, name, text)["probabilities"],
            "development server, REST": lambda: predict_rest(server.rest, name, text)["probabilities"],
            "LiteRT float32": lambda: floats([_QUESTION]),
            "LiteRT dynamic int8": lambda: small([_QUESTION]),
        }
        timed = {road: _timed(ask) for road, ask in roads.items()}
    reference = timed["Keras (Python)"][0]
    differences = {road: float(np.abs(answer - reference).max()) for road, (answer, _) in timed.items()}
    int8 = differences.pop("LiteRT dynamic int8")
    return {
        "text": _QUESTION,
        "rows": [
            {
                "road": road,
                "label": classifier.task.labels[int(answer[0].argmax())],
                "probability": float(answer[0].max()),
                "latency_ms": round(1000 * seconds, 2),
            }
            for road, (answer, seconds) in timed.items()
        ],
        "max_difference": max(differences.values()),
        "max_difference_int8": int8,
    }


def _exporter(module, *names):
    """Names of a module of the exporters' folder, which is called otherwise where kbert is installed."""
    found = importlib.import_module(f"{_EXPORT}.{module}")
    return [getattr(found, name) for name in names]


class _DevelopmentServer:
    """export.development_server in a process of its own, as a user would start it."""

    def __init__(self, base_path, name, logs):
        self._command = [
            *(sys.executable, "-m", f"{_EXPORT}.development_server"),
            *(f"--model_base_path={base_path}", f"--model_name={name}", "--port=0", "--rest_api_port=0"),
        ]
        self._log = logs / "development_server.log"

    def __enter__(self):
        self._file = self._log.open("w", encoding="utf-8")
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=self._file, text=True)
        for line in self._process.stdout:
            self._file.write(line)
            if line.startswith("serving "):
                words = line.replace(",", " ").split()
                self.grpc = words[words.index("gRPC") + 1]
                self.rest = words[words.index("REST") + 1].removeprefix("http://")
                return self
        self.__exit__()
        raise ValueError(f"the development server did not start; see {self._log}.")

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        self._file.close()


def _timed(ask):
    """(answer, median seconds of one call), after a warm-up."""
    answer = ask()
    seconds = []
    for _ in range(_TIMED_CALLS):
        began = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - began)
    return answer, statistics.median(seconds)


def _write_reports(directory, at, results):
    from kbert.reporting.curves import draw_curves
    from kbert.reporting.quickstart_page import results_table, write_page

    names = ("pretraining run", "classifier run", "classifier without pretraining")
    curves = draw_curves({name: at[name] for name in names}, "kbert quickstart")
    (directory / "curves.png").write_bytes(curves)
    write_json(results, directory / "results.json")
    write_page(results, curves, at["this page"])
    print("\n" + results_table(results))


def _last_json(output: str) -> dict:
    return json.loads([line for line in output.splitlines() if line.startswith("{")][-1])


def _num_weights(run) -> int:
    """The number of trained weights, read from the checkpoint's header."""
    import math

    from safetensors import safe_open

    from kbert.runs.checkpoint import WEIGHTS_FILE

    with safe_open(run.checkpoint() / WEIGHTS_FILE, framework="numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())


def _config(name):
    path = configs_directory() / name
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _cores():
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _version():
    from kbert import __version__

    return __version__


def _quoted(argument):
    return f"'{argument}'" if any(c in argument for c in " []*") else argument


def main(argv):
    del argv
    quickstart(Path(FLAGS.directory))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
