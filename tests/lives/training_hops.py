"""The hops of a training: other data, devices, stops, and what judges it.

Metrics agree within `METRICS`, losses of two devices within `DEVICES`, weights to the last bit.
"""

import json
import multiprocessing
import os
import shutil
import time

import numpy as np
import pyarrow as pa

import kbert
from kbert.runs.checkpoint import parse_step
from tests.lives.compare import ROUNDING, is_tie, same
from tests.lives.life import Life
from tfrecords_tools.create_finetuning_data import create_finetuning_data

METRICS, DEVICES = 1e-6, 1e-4
# Found by a search, whose steps rounding may change.
_CHOSEN = ("temperature", "threshold", "chosen")
# Sums of other batches round otherwise; a correlation of answers that are almost equal does so most.
_ROUNDED = {"loss": ROUNDING, "perplexity": ROUNDING, "error": ROUNDING, "pearson": 1e-4}
_WAIT = 0.02  # seconds between two looks at a training


def training(life: Life) -> int:
    """The training itself."""
    return bool(life.trained)


def evaluation(life: Life) -> int:
    """Metrics of training, of `evaluate` at several batch sizes and of the loaded model."""
    run, trained = life.trained
    others = {
        f"at batch size {size}": kbert.evaluate(run, **life.evaluated, batch_size=size)[1]
        for size in (1, 3, 64)
    }
    _, expected = others.popitem()
    # Evaluations of a training have its precision, and maybe fewer batches.
    if life.config.precision == "float32" and "config.max_eval_steps" not in life.world:
        others["while training"] = expected | _common(trained, expected)
    if "split" not in life.evaluated:
        others["of the loaded model"] = life.loaded.evaluate(**life.evaluated)
    for where, metrics in others.items():
        _same_metrics(metrics, expected, f"metrics {where}", in_batch=bool(life.loaded.task.coupled))
    return len(others) * len(_plain(expected))


def records(life: Life) -> int:
    """The rows of a file and of its records, judged and trained on."""
    if life.is_pretraining or life.config.freeze_encoder or life.config.dev_split:
        return 0
    compared = 0
    for split, file in (("train", life.train_file), ("dev", life.dev_file)):
        folder = life.folder / f"{split}_records"
        create_finetuning_data(life.run / "config.json", file, folder, init_checkpoint=life.run)
        _, expected = kbert.evaluate(life.run, file, batch_size=4)
        _, found = kbert.evaluate(life.run, input_dir=folder, batch_size=4)
        _same_metrics(_common(found, expected), _common(expected, found), f"metrics of records, {split}")
        compared += len(_common(found, expected))
    if life.config.max_train_examples is None:
        data = {f"{split}_dir": life.folder / f"{split}_records" for split in ("train", "dev")}
        run, _ = life.train("from_records", **data)
        same([len(_losses(run))], [len(_losses(life.run))], 0, "steps on records")
    return compared


def in_memory(life: Life) -> int:
    """The same rows as columns, as a table and as dicts, trained on and judged."""
    if life.is_pretraining or life.task_name in ("question_answering", "token_classification"):
        return 0
    train, dev = life.rows.splits["train"], life.rows.splits["dev"]
    form = life.rng("in_memory").choice(
        (list, pa.Table.from_pylist, lambda rows: pa.Table.from_pylist(rows).to_pydict())
    )
    _, expected = kbert.evaluate(life.run, life.dev_file)
    _, found = kbert.evaluate(life.run, form(dev))
    _same_metrics(found, expected, "metrics of data in memory")
    data = {"train_file": form(train)} | ({} if life.config.dev_split else {"dev_file": form(dev)})
    run, _ = life.train("in_memory", **data)
    return len(_plain(expected)) + _same_weights(run, life.run, 0.0)


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


def killed(life: Life) -> int:
    """A training in a process of its own, killed at any moment, or asked to end; and on from there."""
    rng = life.rng("killed")
    folder, changes = life.folder / "killed", rng.randint(1, 12)
    function, arguments = life.call("killed")
    process = multiprocessing.get_context("spawn").Process(target=function, kwargs=arguments)
    process.start()
    seen = None
    while process.is_alive() and changes:
        time.sleep(_WAIT)
        now = [sorted(files) for _, _, files in os.walk(folder)]
        changes, seen = changes - (now != seen), now
    process.kill() if rng.random() < 0.5 else process.terminate()
    process.join()
    life.train("killed")
    return _same_weights(folder, life.run, 0.0)


def independent_metrics(life: Life) -> int:
    """Scores of scikit-learn and SciPy: the answers to the rows of a file beside their labels."""
    judge = _JUDGES.get(life.task_name)
    if judge is None or "split" in life.evaluated:
        return 0
    rows, dataset = life.rows.splits["dev"], life.config.dataset
    asked = [_asked(row, dataset) for row in rows]
    expected = judge(life.loaded, asked, [row[dataset.label] for row in rows])
    _, metrics = kbert.evaluate(life.run, life.dev_file)
    for name, value in expected.items():
        same({name: float(metrics[name])}, {name: float(value)}, 1e-5, "by hand")
    return len(expected)


def _asked(row, dataset):
    if dataset.choices:
        beginning = f"{row[dataset.text_pair]} " if dataset.text_pair else ""
        return {"text": row[dataset.text], "choices": [beginning + row[name] for name in dataset.choices]}
    return row[dataset.text] if dataset.text_pair is None else (row[dataset.text], row[dataset.text_pair])


def _of_labels(loaded, asked, labels):
    answers = loaded.predict(asked)
    ties = any(is_tie(answer, ROUNDING) for answer in answers)  # which an evaluation counts by halves
    right = [a.get("label", a.get("choice")) == label for a, label in zip(answers, labels, strict=True)]
    return {} if ties else {"accuracy": np.mean(right)}


def _of_numbers(loaded, asked, labels):
    found = np.array([answer["prediction"] for answer in loaded.predict(asked)])
    return {"pearson": np.corrcoef(found, labels)[0, 1]}


def _of_cosines(loaded, asked, labels):
    first, second = (loaded.embed([pair[n] for pair in asked]) for n in range(2))
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (first, second)]
    return {"pearson": np.corrcoef((unit[0] * unit[1]).sum(axis=1), labels)[0, 1]}


_JUDGES = {
    "sequence_classification": _of_labels,
    "multiple_choice": _of_labels,
    "sequence_regression": _of_numbers,
    "cosine_similarity": _of_cosines,
}


def _same_metrics(found, expected, where, in_batch=False):
    """Counts within `METRICS`, sums within `_ROUNDED`.

    With `in_batch` the loss is about the other texts of a batch, so other batches have another one.
    """
    for name, value in _plain(expected).items():
        if in_batch and (name in ("loss", "batch_accuracy") or name.endswith("_flops")):
            continue
        tolerance = next((of_part for part, of_part in _ROUNDED.items() if part in name), METRICS)
        same({name: _plain(found).get(name)}, {name: value}, tolerance, where)


def _plain(metrics):
    return {
        name: value
        for name, value in metrics.items()
        if isinstance(value, int | float) and not name.startswith(_CHOSEN)
    }


def _common(metrics, others):
    return {name: metrics[name] for name in sorted(_plain(metrics).keys() & _plain(others).keys())}


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
