"""The hops of a life: each compares what two ways must give alike, and returns how much it compared.

Answers in float32 agree within `ROUNDING`, metrics within `METRICS`, losses of two devices within `DEVICES`.
"""

import json
import locale
import shutil
import urllib.request

import numpy as np
import tensorflow as tf
from absl import flags
from absl.testing import flagsaver

import kbert
from export.export_savedmodel import export_savedmodel
from export.export_tflite import export_tflite
from export.gate.session_check import load_session, run_loaded
from export.server.running import DevelopmentServer
from kbert.config import to_dict
from kbert.files.whole_file import write_json
from kbert.runs.checkpoint import parse_step
from kbert.scripts import run_prediction
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.lives import space
from tests.lives.compare import same
from tests.lives.life import Life, ask
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.trim_vocabulary import trim_vocabulary

ROUNDING, METRICS, DEVICES = 2e-5, 1e-6, 1e-4
_SETTINGS = {"top_k": 5, "whole_words": False}  # those that `predict` has by default
_CHOSEN = {"temperature", "threshold", "thresholds"}  # found by a search, whose steps rounding may change


def training(life: Life) -> int:
    """The training itself."""
    return len(life.trained)


def other_batches(life: Life) -> int:
    """Asked one by one, all at once, and in the reverse order."""
    if life.loaded.task.serving is None or not isinstance(life.answers[0], dict):
        together = life.loaded.embed(life.examples)
        backwards = life.loaded.embed(life.examples[::-1])[::-1]
        same(list(together), life.answers, ROUNDING)
        same(list(backwards), life.answers, ROUNDING)
    else:
        same(life.loaded.predict(life.examples), life.answers, ROUNDING)
        same(life.loaded.predict(life.examples[::-1])[::-1], life.answers, ROUNDING)
    return 2 * len(life.answers)


def evaluation(life: Life) -> int:
    """Metrics of training, of `evaluate` at several batch sizes and of the loaded model."""
    run, trained = life.trained
    data = {"input_dir": life.records} if life.is_pretraining else {"eval_file": life.dev_file}
    _, expected = kbert.evaluate(run, **data, batch_size=3)
    in_batch = bool(life.loaded.task.coupled)
    trained, shown = _common(trained, expected), _common(expected, trained)
    _same_metrics(trained, shown, "metrics while training", in_batch)
    for batch_size in (1, 64):
        _, metrics = kbert.evaluate(run, **data, batch_size=batch_size)
        _same_metrics(metrics, expected, f"metrics at batch size {batch_size}", in_batch)
    _same_metrics(life.loaded.evaluate(**data), expected, "metrics of the loaded model", in_batch)
    return 4 * len(_plain(expected))


def records(life: Life) -> int:
    """Evaluation and training from a file and from its records."""
    if life.is_pretraining or life.config.freeze_encoder:
        return 0
    for split, file in (("train", life.train_file), ("dev", life.dev_file)):
        config = life.folder / "config.json"
        write_json(to_dict(life.loaded.run.config) | {"encoder": None}, config)
        create_finetuning_data(config, file, life.folder / f"{split}_records", init_checkpoint=life.run)
    dev_records = life.folder / "dev_records"
    _, expected = kbert.evaluate(life.run, life.dev_file, batch_size=4)
    _, found = kbert.evaluate(life.run, input_dir=dev_records, batch_size=4)
    _same_metrics(_common(found, expected), _common(expected, found), "metrics of records")
    run, _ = life.train("from_records", train_dir=life.folder / "train_records", dev_dir=dev_records)
    return len(expected) + _same_weights(run, life.run, 0.0)


def two_devices(life: Life) -> int:
    """Training on one device and on two; without dropout, whose masks depend on the rows of a device."""
    if life.drops_out:
        return 0
    run, _ = life.train("two_devices", strategy="mirrored", num_devices=2)
    losses = [_losses(folder) for folder in (run, life.run)]
    if life.config.precision == "float32":
        same(*losses, DEVICES, "losses on two devices")
    return len(losses[0])


def resumed(life: Life) -> int:
    """A training that stopped at an earlier checkpoint and went on."""
    copy = life.folder / "resumed"
    shutil.copytree(life.run, copy)
    steps = sorted((copy / "checkpoints").glob("step-*"), key=parse_step)
    if len(steps) < 2:
        return 0
    shutil.rmtree(steps[-1])
    life.train("resumed")
    return _same_weights(copy, life.run, 0.0)


def saved_model(life: Life) -> int:
    """The SavedModel, by its session and by `tf.saved_model.load`."""
    return _ask_saved_model(life, "serving", "tf_text")


def saved_model_of_core_ops(life: Life) -> int:
    """The SavedModel that tokenizes by TensorFlow's core ops."""
    return _ask_saved_model(life, "serving_core", "core")


def _ask_saved_model(life, name, text_ops):
    serving = life.loaded.task.serving
    if serving is None:
        return 0
    report = export_savedmodel(life.loaded, life.folder / name, text_ops=text_ops)
    session, module = load_session(report["path"]), tf.saved_model.load(report["path"])
    for example, answer in zip(life.examples, life.answers, strict=True):
        inputs = _inputs(serving, example)
        signature = serving.signature_for(inputs)
        needed = {key: [value] for key, value in inputs.items()}
        takes = module.signatures[signature].structured_input_signature[1]
        needed |= {key: value for key, value in _SETTINGS.items() if key in takes}
        by_session = run_loaded(session, signature, needed)
        tensors = {key: tf.constant(value, takes[key].dtype) for key, value in needed.items()}
        by_module = {key: value.numpy() for key, value in module.signatures[signature](**tensors).items()}
        for outputs in (by_session, by_module):
            row = {key: value[0] for key, value in outputs.items()}
            found = row["embedding"] if _is_vector(answer) else serving.answer(row, inputs)
            same(found, answer, ROUNDING)
    return 2 * len(life.answers)


def _is_vector(answer) -> bool:
    return not isinstance(answer, dict)


def _inputs(serving, example) -> dict:
    if isinstance(example, dict):
        return example
    parts = (example,) if isinstance(example, str) else example
    names = next(
        names for names in (serving.inputs, *serving.other_inputs.values()) if len(names) == len(parts)
    )
    return dict(zip(names, parts, strict=True))


def litert(life: Life) -> int:
    """The file for phones, float32."""
    serving = life.loaded.task.serving
    if serving is None or serving.same_answers is None or not serving.row_texts:
        return 0
    export_tflite(life.loaded.run, life.folder / "litert", ["float32"], eval_file=life.dev_file)
    same(
        ask(kbert.load(life.folder / "litert" / "model_float32.tflite"), life.examples),
        life.answers,
        ROUNDING,
    )
    return len(life.answers)


def conversions(life: Life) -> int:
    """Written in each format, loaded again, and brought back."""
    compared = 0
    for format in space.conversions():
        there, back = life.folder / f"to_{format}", life.folder / f"from_{format}"
        try:
            convert_checkpoint(life.run, there, format)
        except ValueError as refusal:
            life.refused(refusal)
            continue
        convert_checkpoint(there, back, "kbert")
        for folder in (there, back):
            loaded = kbert.load(folder)
            if loaded.task.name == life.loaded.task.name:
                same(ask(loaded, life.examples), life.answers, ROUNDING, format)
                compared += len(life.answers)
            else:
                same(loaded.embed("the house"), life.loaded.embed("the house"), ROUNDING, format)
                compared += 1
    return compared


def elsewhere(life: Life) -> int:
    """In another folder, and where numbers and capitals are written otherwise."""
    moved = life.folder / "an other folder, ä"
    shutil.copytree(life.run, moved)
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("tr_TR.UTF-8", "de_DE.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_ALL, name)
            except locale.Error:
                continue
            same(ask(kbert.load(moved), life.examples), life.answers, ROUNDING, name)
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return len(life.answers)


def command_line(life: Life) -> int:
    """`kbert predict` as JSON lines and as a table."""
    if not isinstance(life.answers[0], dict):
        return 0
    names = [_inputs(life.loaded.task.serving, example) for example in life.examples]
    asked = life.folder / "asked.jsonl"
    asked.write_text("".join(json.dumps(row) + "\n" for row in names), encoding="utf-8")
    for ending in ("jsonl", "csv"):
        answers = life.folder / f"answers.{ending}"
        _call(run_prediction, f"--run_dir={life.run}", f"--input_file={asked}", f"--output_file={answers}")
    lines = [json.loads(line) for line in (life.folder / "answers.jsonl").read_text("utf-8").splitlines()]
    found = [
        {key: value for key, value in line.items() if key in answer}
        for line, answer in zip(lines, life.answers, strict=True)
    ]
    same(found, json.loads(json.dumps(life.answers)), ROUNDING)
    return len(lines)


def _call(script, *arguments):
    values = flags.FLAGS
    if "input_file" not in values:
        script.define_flags()
    with flagsaver.flagsaver():
        values(["kbert", *arguments])
        script.main()


def served(life: Life) -> int:
    """`kbert serve`, asked by its Predict API."""
    serving, compared = life.loaded.task.serving, 0
    if serving is None:
        return 0
    with DevelopmentServer(life.run, "life", 0, 0) as server:
        address = f"http://127.0.0.1:{server.rest_api_port}/v1/models/life:predict"
        for example, answer in zip(life.examples, life.answers, strict=True):
            inputs = _inputs(serving, example)
            signature = serving.signature_for(inputs)
            names = life.loaded.signatures[signature].inputs
            settings = {name: value for name, value in _SETTINGS.items() if name in names}
            columns = {name: [value] for name, value in inputs.items()} | settings
            body = json.dumps({"signature_name": signature, "inputs": columns}).encode()
            request = urllib.request.Request(address, body, {"content-type": "application/json"})
            outputs = json.loads(urllib.request.urlopen(request, timeout=60).read())["outputs"]
            outputs = outputs if isinstance(outputs, dict) else {next(iter(names)): outputs}
            row = {name: _array(value)[0] for name, value in outputs.items()}
            same(row["embedding"] if _is_vector(answer) else serving.answer(row, inputs), answer, ROUNDING)
            compared += 1
    return compared


def _array(value):
    array = np.array(value)
    return np.char.encode(array, "utf-8").astype(object) if array.dtype.kind == "U" else array


def trimmed(life: Life) -> int:
    """Cut to the tokens of the examples, whose answers stay."""
    if life.vocabulary.kind != "wordpiece" or life.loaded.task.serving is None:
        return 0
    texts = life.folder / "texts.txt"
    lines = [text for example in life.examples for text in _texts(_inputs(life.loaded.task.serving, example))]
    texts.write_text("\n".join(line.replace("[MASK]", "") for line in lines) + "\n", encoding="utf-8")
    trim_vocabulary(life.run, life.folder / "trimmed", [texts])
    found = ask(kbert.load(life.folder / "trimmed"), life.examples)
    if life.is_pretraining:  # fewer words share the probability
        return len(found)
    same(found, life.answers, ROUNDING)
    return len(found)


def _texts(inputs):
    for value in inputs.values():
        yield from [value] if isinstance(value, str) else value


def independent_metrics(life: Life) -> int:
    """Accuracy by hand: the answers to the rows of a file beside their labels."""
    if life.task_name not in ("sequence_classification", "multiple_choice"):
        return 0
    examples = life.loaded.task.files.read_examples(life.dev_file, life.loaded.run.config.dataset)
    right = []
    for example in examples:
        if life.task_name == "multiple_choice":
            asked = {"text": example.text, "choices": list(example.choices)}
            right.append(life.loaded.predict(asked)["choice"] == example.label)
        else:
            asked = example.text if example.text_pair is None else (example.text, example.text_pair)
            right.append(life.loaded.predict(asked)["label"] == example.label)
    _, metrics = kbert.evaluate(life.run, life.dev_file)
    same(float(metrics["accuracy"]), float(np.mean(right)), METRICS, "accuracy")
    return len(right)


HOPS = {
    hop.__name__: hop
    for hop in (
        training, other_batches, evaluation, records, two_devices, resumed, saved_model,
        saved_model_of_core_ops, litert, conversions, elsewhere, command_line, independent_metrics,
        served, trimmed,
    )
}  # fmt: skip


def _same_metrics(found, expected, where, in_batch=False):
    """Counts within `METRICS`; losses are sums of other batches, which round otherwise.

    With `in_batch` the loss is about the other texts of a batch, so other batches have another one.
    """
    for name, value in _plain(expected).items():
        if name in ("loss", "batch_accuracy") and in_batch:
            continue
        tolerance = ROUNDING if "loss" in name or name == "perplexity" else METRICS
        same({name: _plain(found).get(name)}, {name: value}, tolerance, where)


def _plain(metrics):
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def _common(metrics, others):
    names = _plain(metrics).keys() & _plain(others).keys() - _CHOSEN
    return {name: metrics[name] for name in sorted(names)}


def _losses(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [line["loss"] for line in lines if "loss" in line and line.get("kind", "train") == "train"]


def _same_weights(run, other, tolerance) -> int:
    ours, theirs = (
        [weight.numpy() for weight in kbert.load(folder, checkpoint="last").model.trainable_variables]
        for folder in (run, other)
    )
    same(ours, theirs, tolerance, "weights")
    return len(theirs)
