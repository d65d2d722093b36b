"""The hops of a training: other data, devices, stops, and what judges it.

Metrics agree within `METRICS`, losses of batches in other parts within `PARTS`, weights to the last bit.
"""

import dataclasses
import json
import shutil
from unittest import mock

import numpy as np
import pyarrow as pa
import tensorflow as tf

import kbert
from export.export_tflite import export_tflite
from kbert.config import DRAWN_ROWS
from kbert.files.file_format import TABLES
from kbert.runs.checkpoint import parse_step
from kbert.training.loss_scale import LARGEST_SCALE
from tests.kbert.tasks.question_answering.test_squad_scores import reference_pair
from tests.lives.compare import ROUNDING, is_tie, same
from tests.lives.life import Life, ask
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.trim_vocabulary import trim_vocabulary

METRICS, PARTS = 1e-6, 1e-4
# Found by a search, whose steps rounding may change.
_CHOSEN = ("temperature", "threshold", "chosen")
# Sums of other batches round otherwise; a correlation of answers that are almost equal does so most.
_ROUNDED = {"loss": ROUNDING, "perplexity": ROUNDING, "error": ROUNDING, "pearson": 1e-4}


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


def other_lengths(life: Life) -> int:
    """Cut to other tokens: a model that has answered before, one that has not, and what the one writes."""
    length = life.rng("other_lengths").choice((12, 16, 20, 32, 40))
    changed, fresh = (model.with_max_seq_length(length) for model in (life.loaded, kbert.load(life.run)))
    changed.save(life.folder / "other_length")
    saved, expected = kbert.load(life.folder / "other_length"), ask(changed, life.examples)
    for model in (fresh, saved):
        same([model.max_seq_length], [length], 0, "length")
        same(ask(model, life.examples), expected, ROUNDING)
    data = {} if "split" in life.evaluated or life.is_pretraining else life.evaluated
    metrics = [model.evaluate(**data) for model in (changed, fresh, saved) if data]
    for others in metrics[1:]:
        _same_metrics(others, metrics[0], "metrics")
    return 2 * (len(expected) + len(metrics))


def judged_after_trimming(life: Life) -> int:
    """The metrics of a model that is cut to the tokens of its labelled files."""
    if life.vocabulary.kind != "wordpiece" or life.is_pretraining or life.task_name == "sparse_embedding":
        return 0
    files, dataset = list(life.files.values()), life.config.dataset
    trim_vocabulary(life.run, life.folder / "judged", files, dataset=dataset, task=life.task_name)
    found, expected = (kbert.evaluate(run, **life.evaluated)[1] for run in (life.folder / "judged", life.run))
    _same_metrics(found, expected, "metrics")
    return len(_plain(expected))


def litert_metrics(life: Life) -> int:
    """The metrics of the model by which an export to LiteRT judges its files."""
    serving, data = life.loaded.task.serving, life.evaluated
    if life.is_pretraining or "split" in data or serving is None or serving.same_answers is None:
        return 0
    report = export_tflite(life.loaded.run, life.folder / "measured", ["float32"], **data, min_agreement=0.0)
    found, (_, expected) = report["float32"]["keras_metrics"], kbert.evaluate(life.run, **data)
    _same_metrics(_common(found, expected), _common(expected, found), "metrics of an export to LiteRT")
    return len(_common(found, expected))


def records(life: Life) -> int:
    """The rows of a file and of its records, judged and trained on."""
    if life.is_pretraining or life.config.freeze_encoder or life.config.dev_split:
        return 0
    compared = 0
    for split, file in life.files.items():
        folder = life.folder / f"{split}_records"
        whole = [*(f"{name}=null" for name in DRAWN_ROWS), "dev_split_seed=0"]  # records hold all of a file
        create_finetuning_data(
            life.run / "config.json", file, folder, init_checkpoint=life.run, overrides=whole
        )
        _, expected = kbert.evaluate(life.run, file, batch_size=4)
        _, found = kbert.evaluate(life.run, input_dir=folder, batch_size=4)
        _same_metrics(_common(found, expected), _common(expected, found), f"metrics of records, {split}")
        compared += len(_common(found, expected))
    if not any(getattr(life.config, name) for name in DRAWN_ROWS):
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
    _, expected = kbert.evaluate(life.run, life.files["dev"])
    _, found = kbert.evaluate(life.run, form(dev))
    _same_metrics(found, expected, "metrics of data in memory")
    data = {"train_file": form(train)} | ({} if life.config.dev_split else {"dev_file": form(dev)})
    run, _ = life.train("in_memory", **data)
    return len(_plain(expected)) + _same_weights(run, life.run, 0.0)


def in_files(life: Life) -> int:
    """The rows as a pattern of two files, whose columns stand in another order, trained on and judged."""
    tagged = life.task_name in ("question_answering", "token_classification")
    if life.is_pretraining or tagged or life.world["format"] not in TABLES or life.world["packing"]:
        return 0
    _, expected = kbert.evaluate(life.run, life.files["dev"])
    _, found = kbert.evaluate(life.run, life.rows.write_parts("dev"))
    _same_metrics(found, expected, "metrics of two files")
    run, _ = life.train("in_files", train_file=life.rows.write_parts("train"))
    return len(_plain(expected)) + _same_weights(run, life.run, 0.0)


def other_parts(life: Life) -> int:
    """Losses of batches on two devices, or in other micro-batches.

    Not with dropout or replaced tokens, which are drawn for the rows of a part.
    """
    if life.drops_out or life.task_name == "replaced_token_detection":
        return 0
    number = 2 if life.config.gradient_accumulation_steps == 1 else 1
    config = dataclasses.replace(life.config, gradient_accumulation_steps=number)
    parts = life.rng("other_parts").choice(({"strategy": "mirrored", "num_devices": 2}, {"config": config}))
    run, _ = life.train("other_parts", **parts)
    losses = [_losses(folder) for folder in (run, life.run)]
    if life.config.precision == "float32":
        same(*losses, PARTS, f"losses with {next(iter(parts))}")
    return len(losses[0])


def loss_scale(life: Life) -> int:
    """float16 from the largest loss scale: each step that overflows is skipped and halves it. A phase with a
    fresh optimizer begins with the first scale again."""
    config = dataclasses.replace(life.config, precision="float16", log_every_steps=1)
    with mock.patch("kbert.training.loss_scale.FIRST_SCALE", LARGEST_SCALE):
        run, _ = life.train("loss_scale", config=config)
    steps = [line for line in _lines(run) if "loss_scale" in line]
    phases = getattr(life.config, "phases", ())
    ends = np.cumsum([phase.num_train_steps for phase in phases])[:-1].tolist()
    fresh = {end + 1 for end, phase in zip(ends, phases[1:], strict=True) if phase.fresh_optimizer}
    scales, scale = [], LARGEST_SCALE
    for line in steps:
        scale = LARGEST_SCALE if line["step"] in fresh else scale
        scales.append(scale)
        scale /= 2.0 ** line["skipped_steps"]
    same([line["loss_scale"] for line in steps], scales, 0, "scale")
    return len(steps)


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


def at_the_threshold(life: Life) -> int:
    """Answers and scores of a model that knows nothing: the odds of no answer are 0, as is the threshold."""
    if life.task_name != "question_answering":
        return 0
    loaded, scores = kbert.load(life.run), []
    for weight in loaded.model.trainable_variables:
        weight.assign(tf.zeros_like(weight))
    for row in life.rows.splits["dev"]:
        (question,) = row["qas"]
        answer = loaded.predict((question["question"], row["context"]))["answer"]
        golds = [gold["text"] for gold in question["answers"]]
        scores.append(reference_pair(answer, golds, "settings.unanswerable" in life.world))
    expected = dict(zip(("exact_match", "f1"), 100 * np.mean(scores, axis=0), strict=True))
    metrics = loaded.evaluate(life.files["dev"])
    same({name: metrics[name] for name in expected}, expected, 1e-6, "by hand")
    return len(scores)


def independent_metrics(life: Life) -> int:
    """Scores of scikit-learn and SciPy: the answers to the rows of a file beside their labels."""
    judge = _JUDGES.get(life.task_name)
    if judge is None or "split" in life.evaluated:
        return 0
    dataset = life.config.dataset
    labels = [row[dataset.label] for row in life.rows.splits["dev"]]
    asked = zip(life.rows.asked("dev", dataset), labels, strict=True)
    judged = [pair for pair in asked if pair[1] is not None]
    expected = judge(life.loaded, *map(list, zip(*judged, strict=True)))
    _, metrics = kbert.evaluate(life.run, life.files["dev"])
    same({name: float(metrics[name]) for name in expected}, expected, 1e-5, "by hand")
    return len(expected)


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


def _lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]


def _losses(run):
    return [
        {name: value for name, value in line.items() if name.endswith("loss")}
        for line in _lines(run)
        if line.get("split") == "train"
    ]


def _same_weights(run, other, tolerance) -> int:
    ours, theirs = (
        [weight.numpy() for weight in kbert.load(folder, checkpoint="last").model.trainable_variables]
        for folder in (run, other)
    )
    same(ours, theirs, tolerance, "weights")
    return len(theirs)
