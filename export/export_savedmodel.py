r"""Script: a run or any checkpoint -> a SavedModel for stock TensorFlow Serving, text in, predictions out.

  kbert export --run_dir=runs/sst2 --model_base_path=serving/sst2
  kbert export --init_checkpoint=hf://org/name --model_base_path=serving/name

Writes model_base_path/<version>/. The folder gets this name only after its checks: the op gate (all ops are
known to the TensorFlow Servings in use), the session loader, whose predictions must be the Keras
model's for every signature, and the size (each weight is stored once). A model card and warm-up requests lie
beside the model; see docs/serving.md.
"""

from pathlib import Path
from typing import Annotated, Literal

from absl import logging

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.checks import with_checked_arguments
from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import activity
from kbert.config.vectors_config import BY_HAND, TEXT_TASKS
from kbert.files.json_file import read_json
from kbert.files.output_path import check_output_folder
from kbert.files.version_folders import LAST_VERSION, version_folder, version_number
from kbert.files.whole_file import whole_folder, write_json
from kbert.reports.page import percent
from kbert.scripts.training_flags import Checkpoint
from kbert.tasks import TASKS
from kbert.tokenization import text_ops as tokenizer_ops

from . import serving_model
from .deployment import model_card, warmup_requests
from .deployment.docker_line import docker_command, served_name
from .deployment.measurements import measure
from .folder_names import ABOUT_FILE, EXTRA_FOLDER, write_labels
from .gate import answer_check, op_gate, run_texts, saved_model_session, stored_weights
from .gate.server_releases import releases_from
from .source_flags import exported_model

POSITIONS = ("run_dir", "model_base_path")  # of arguments without a flag

# Differences from the Keras answer up to this are rounding, of numbers up to 1; see `check_answers`. bfloat16
# has 8 bits, and rounds between all ops.
TOLERANCES = {"float32": 1e-5, "bfloat16": 0.1}
TextOps = Literal["tf_text", "core"]
_REPLAY_SECONDS = 3.0  # of a server's requests to warm up with, where their time is not measured


def define_flags():
    declare_flags(exported_model, Checkpoint)
    declare_flags(export_savedmodel)
    define_json_flag()


@with_checked_arguments
def export_savedmodel(
    source,
    model_base_path: str | Path,
    version: Annotated[int, Bounds(1)] | None = None,
    precision: Literal["float32", "bfloat16"] = "float32",
    min_server_version: str | None = None,
    measure: bool = False,
    text_ops: TextOps = "tf_text",
    dimensions: Annotated[int, Bounds(1)] | None = None,
) -> dict:
    """Exports `source` to `model_base_path/<version>`; the folder appears only after all checks have passed.

    Args:
      source: the `RunDirectory` of a run, or a `LoadedModel`, whose task answers texts.
      model_base_path: folder of the model's versions, made if missing.
      version: version number; by default the next free one.
      precision: precision of the encoder's matrix products. bfloat16 is faster on CPUs that have AVX512-BF16
        or AMX; max_difference in the report says what it costs.
      min_server_version: the oldest TensorFlow Serving in use, for example 2.20. It and all newer ones must
        know every op; by default 2.12.
      measure: measure milliseconds, memory and the time of warming up for the card, in another process: with
        a large model on few cores it takes minutes.
      text_ops: whose ops tokenize: TF-Text's, which are faster, or TensorFlow's core, which load everywhere.
      dimensions: of models of vectors, how many numbers of each to give, the first ones; these have length 1
        where whole vectors do. By default all.

    Returns:
      dict: path, version, precision, dimensions (where they are given), num_ops, text_ops (TF-Text ops
        used), oldest_server; max_difference and mean_difference from Keras in float32, answers_agree,
        answers_compared, compared_on (which texts); parameters, weight_bytes, graph_bytes, bytes; docker,
        the line that serves the model.

    Raises:
      ValueError: for other `text_ops`, or "core" with a SentencePiece model; for `dimensions` that the model
        does not have; when the version exists, or `model_base_path` is a model itself; when a weight or an
        answer is not finite, the gate refuses an op, the answers differ, weights are stored twice, or a
        request to warm up with fails.
    """
    base, version = Path(model_base_path), _new_version(model_base_path, version)
    target = base / str(version)
    releases_from(min_server_version)

    with activity("reading the model"):
        model = serving_model.ServingModel(source, precision, dimensions)
        name = served_name(base)
    _warn_of_prompts(model)
    if text_ops == "core" and model.loaded.vocabulary.kind == "sentencepiece":
        raise ValueError(
            f"text_ops=core: {model.loaded.source} has a SentencePiece model, which needs the ops of "
            "TF-Text; leave --text_ops out."
        )
    # Servers load every folder whose name is a number, so this one gets its name last.
    with whole_folder(target) as aside:
        with activity("writing the graph"), tokenizer_ops.core_ops(text_ops == "core"):
            model.write(aside)
        report = op_gate.check_servable(str(aside), min_server_version) | {"precision": precision}
        report |= {} if dimensions is None else {"dimensions": dimensions}
        session = saved_model_session.SavedModelSession(str(aside))
        examples, compared_on = run_texts.read_run_texts(model.loaded.run, model.task)
        with activity("asking every signature, and Keras the same"):
            report |= answer_check.check_answers(model, session, TOLERANCES[precision], examples)
        report["compared_on"] = compared_on
        write_with_assets(aside, model)
        with activity("requests to warm up with" + (", time and memory (--measure)" if measure else "")):
            warm_up = _warm_up(aside, name, model, examples, session, measure)
        report |= stored_weights.check_stored_once(aside, model.num_parameters)
        report["docker"] = docker_command(base, name, min_server_version)
        _write_about(aside, model, report, warm_up, name, version)
    return {"path": str(target), "version": version} | report


def _warn_of_prompts(model):
    """Warns of prompts that no signature puts before a text."""
    pooling, signatures = model.task.pooling, model.signatures.keys()
    if pooling is None:
        return
    named = {*pooling.prompts, *(f"prompt_{name}" for name in pooling.prompts), *TEXT_TASKS}
    if not named & signatures:
        pooling.warn_of_named_prompts(BY_HAND)


def _warm_up(directory, name, serving_model, examples, session, with_measurements) -> dict:
    """Writes the requests that a server replays before it serves a version, and replays some or, to measure,
    all of them.

    Returns:
      num_warmup_requests, and measured: what `measure` gives; None where nothing is measured.
    """
    extra, text_inputs = directory / EXTRA_FOLDER, serving_model.loaded.text_inputs
    requests = list(warmup_requests.warmup_requests(serving_model.signatures, text_inputs, examples))
    number = warmup_requests.write_warmup_requests(extra, name, requests)
    measured = measure(directory, [request[:3] for request in requests]) if with_measurements else None
    if measured is None:
        written = warmup_requests.read_warmup_requests(extra)
        warmup_requests.replay(requests, written, session.run, _REPLAY_SECONDS)
    return {"num_warmup_requests": number, "measured": measured}


def _new_version(model_base_path, version: int | None) -> int:
    """The number of the version to write. Raises ValueError where it is taken; as `check_output_folder`."""
    base = Path(model_base_path)
    if base.exists() and not base.is_dir():
        raise ValueError(f"--model_base_path={base} is a file; give the folder of the model's versions.")
    if formats.holds_model(base) or version_folder(base) == base:
        raise ValueError(
            f"--model_base_path={base} is a model itself, and kbert serve would answer by one of two; give "
            "a folder for the versions alone, such as serving/NAME."
        )
    version = version or _next_version(base)
    if version > LAST_VERSION:
        raise ValueError(
            f"version={version} is more than {LAST_VERSION}, the last that TensorFlow Serving loads; "
            "give a smaller --version."
        )
    if (target := base / str(version)).exists():
        raise ValueError(f"{target} exists; choose another --version, or leave it out for the next free one.")
    check_output_folder(target)
    if version < (newest := _next_version(base) - 1):
        logging.warning(
            "%s holds version %d, and servers take the newest: version %d will not answer there.",
            base, newest, version,
        )  # fmt: skip
    return version


def _next_version(base) -> int:
    numbers = map(version_number, base.iterdir() if base.is_dir() else ())
    return 1 + max((number for number in numbers if number is not None), default=0)


def write_with_assets(directory, serving_model):
    """Writes what clients and `kbert serve` may want to know; servers ignore assets.extra.

    kbert.json has the task, its labels, casing and length, and the prompts of a model of vectors.
    """
    extra, loaded = directory / EXTRA_FOLDER, serving_model.loaded
    extra.mkdir(exist_ok=True)
    loaded.vocabulary.write_files(extra)
    write_labels(serving_model.labels, extra)
    about = TASKS.to_record(serving_model.task, loaded.max_seq_length) | {
        "labels": list(serving_model.labels),
        "max_seq_length": loaded.max_seq_length,
        "vocabulary": loaded.vocabulary.describe(),
        "run": str(serving_model.checkpoint),
    }
    if serving_model.task.pooling is not None:
        about |= serving_model.task.pooling.prompt_settings
    write_json(about, extra / ABOUT_FILE)


def _write_about(directory, serving_model, report, warm_up, name, version):
    """The report into kbert.json, for programs, and the card for people and programs."""
    extra = directory / EXTRA_FOLDER
    write_json(read_json(extra / ABOUT_FILE) | report, extra / ABOUT_FILE)
    card = model_card.model_card(serving_model, directory, report | warm_up)
    write_json(card, extra / model_card.CARD_FILE)
    model_card.write_card_page(f"{name}, version {version}", card, extra / model_card.PAGE_FILE)


def _closing_values(report) -> dict[str, object]:
    """What the script prints last, for people."""
    extra, agreement = Path(report["path"]) / EXTRA_FOLDER, report["answers_agree"]
    return {
        "SavedModel": report["path"],
        "size": f"{report['bytes'] / 1e6:.2f} MB",
        "parameters": report["parameters"],
        # None where the answers are no labels: the largest difference tells.
        "same predictions as Keras": agreement
        and f"{percent(agreement, 2)} of {report['answers_compared']:,}",
        "largest difference": f"{report['max_difference']:.2g}",
        "compared on": report["compared_on"],
        "oldest server": report["oldest_server"],
        "page": extra / model_card.PAGE_FILE,
        "the same as JSON": extra / ABOUT_FILE,
        "to serve it": report["docker"],
    }


def main():
    arguments = flag_values(export_savedmodel)
    # Before a model loads TensorFlow.
    arguments["version"] = _new_version(arguments["model_base_path"], arguments["version"])
    releases_from(arguments["min_server_version"])
    report = export_savedmodel(exported_model(**flag_values(exported_model)), **arguments)
    print_result(report, _closing_values(report))


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
