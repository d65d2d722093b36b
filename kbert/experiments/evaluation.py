"""A trained run + held-out data -> metrics, with those of the best constant answer for comparison."""

import contextlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union

from kbert.bounds import Bounds
from kbert.config import FinetuningConfig, PretrainingConfig, settled_config
from kbert.config.checks import require_single
from kbert.experiments import show_lines
from kbert.input_pipelines.data_files import LabelledData, data_as_files, shown_source

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel
    from kbert.runs.run_directory import RunDirectory

MOST_EXAMPLES = 50  # on a page
# Metrics are means in float32. One example of a million more would be twice as much.
_ROUNDING = 5e-7


def evaluate(
    run_dir: Union[str, os.PathLike, "RunDirectory", "LoadedModel"],
    eval_file: LabelledData = None,
    input_dir: str | os.PathLike | None = None,
    batch_size: Annotated[int, Bounds(1)] = 64,
    checkpoint: str | int | None = None,
    predictions_dir: str | os.PathLike | None = None,
    keep_chosen: bool = False,
    split: Literal["all", "dev"] = "all",
    html_file: str | os.PathLike | None = None,
    html_examples: Annotated[int, Bounds(0)] = MOST_EXAMPLES,
    *,
    config: FinetuningConfig | str | os.PathLike | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] = (),
):
    """Evaluates a model on held-out data, as `kbert evaluate` does with the flags of these names.

    Args:
      run_dir: the model: a run directory, or any checkpoint with its head. In Python also a `RunDirectory`;
        or a `LoadedModel`, whose weights, length and precision are then judged as they are in memory.
      eval_file: labelled file, for a fine-tuned model. In Python also data in memory, as for
        `kbert.finetune`, in columns of the same names. Give either this or `input_dir`.
      input_dir: folder of records, for a pretraining or a fine-tuned run.
      batch_size: examples at a time.
      predictions_dir: folder for the predictions on `eval_file`, in the files of the task. Question answering
        writes predictions.json, nbest_predictions.json and null_odds.json.
      keep_chosen: keep the temperature and the thresholds that are best for `eval_file` with the run: all its
        later predictions use them.
      split: dev: `eval_file` is the training file; only the examples that dev_split held out are taken.
      html_file: a page to write, one file without scripts: scores, calibration, scores by length, the most
        confident errors with their texts, learning curves.
      html_examples: the largest number of examples on the page of `html_file`.
      config: for a checkpoint of another library: a fine-tuning config of its task. Its [dataset] names the
        columns of `eval_file`, and its task_settings and max_seq_length are used. Without it, the columns are
        text, text_pair and label, the settings are the defaults, and the length is the checkpoint's.
      checkpoint, do_lower_case, allow_unmatched: as for `kbert.load`.

    Returns:
      (task, metrics): `metrics` has the metrics of training, the scores of the best constant answer, and
      `num_examples`.

    Raises:
      ValueError: when the data do not match the run, or when a loss is not finite.

    Examples:
      >>> import kbert
      >>> task, metrics = kbert.evaluate(run_dir, eval_file)
      >>> metrics["num_examples"], round(metrics["baseline_accuracy"], 3)
      (13, 0.538)
    """
    show_lines()
    config = None if config is None else settled_config(FinetuningConfig, config, {})
    for_runs = {"keep_chosen": keep_chosen, "checkpoint": checkpoint, "split": split == "dev"}
    needs_run = next((name for name, value in for_runs.items() if value), "")
    with contextlib.ExitStack() as stack:
        (eval_file,) = stack.enter_context(data_as_files({"the data": eval_file}))
        require_single({"eval_file (labelled examples)": eval_file, "input_dir (records)": input_dir})
        settings = {"allow_unmatched": allow_unmatched, "checkpoint": checkpoint, "needs_run": needs_run}
        loaded = _open_for(eval_file, config, run_dir, do_lower_case, **settings)
        _require_examples(loaded, eval_file, predictions_dir, keep_chosen)
        if split == "dev" and not (eval_file and "held_out" in loaded.run.details):
            raise ValueError(not_held_out(loaded.source))

        import tensorflow as tf

        from kbert.input_pipelines.records.record_reader import naming_damaged_records
        from kbert.runs.checkpoint import parse_step
        from kbert.training.evaluation_step import EvaluationStep, evaluate_batches

        for_pretraining = isinstance(loaded.training_config, PretrainingConfig)
        open_data = _pretraining_records if for_pretraining else labelled_data
        data, make_batches = open_data(loaded, eval_file, input_dir, split == "dev")
        # Only once: in a run that is still training, "last" and "best" soon mean another checkpoint.
        model, task = loaded.answering_model, loaded.task
        step = parse_step(loaded.checkpoint) if loaded.checkpoint else 0
        stack.enter_context(naming_damaged_records(data))
        batches = make_batches(task, batch_size)
        examples, owners = data.examples, data.rows.owners
        strategy = tf.distribute.get_strategy()
        evaluation_step = EvaluationStep(task, model, strategy, for_page=bool(html_file))
        sections = []

        def collect(examples, predictions):
            if predictions_dir:
                task.write_predictions(examples, predictions, predictions_dir)
            if html_file and task.page:
                sections.extend(task.page.example_sections(examples, predictions, html_examples))

        rows = data.manifest.num_examples if data.manifest else 0  # batches of a file know their number
        num_batches = -(-rows // batch_size)
        metrics = evaluate_batches(task, evaluation_step, batches, examples, owners, collect, num_batches)
        _require_finite_losses(loaded.source, metrics)
        metrics |= task.baseline(batches.as_numpy_iterator(), loaded.vocabulary)
        if keep_chosen:
            loaded.run.keep_chosen(step, task.chosen(metrics), shown_source(eval_file))
        metrics |= {"num_examples": data.num_examples}
        if html_file:
            source = shown_source(eval_file or input_dir)
            _write_page(loaded, source, metrics, sections, step, html_file)
        return task, metrics


def _open_for(eval_file, config, source, do_lower_case, **settings):
    """The `LoadedModel` to evaluate; refuses a file without its columns before a model is opened."""
    from kbert.inference.loading import open_model
    from kbert.runs.columns_of_run import require_columns_of_model

    if eval_file:
        path = getattr(source, "path", getattr(source, "source", source))
        require_columns_of_model(eval_file, path, config)
    return open_model(source, do_lower_case, **settings).for_files(config, eval_file)


def _write_page(loaded, data, metrics, sections, step, html_file):
    from kbert.reports.evaluation_page import write_evaluation_page

    task, folder = loaded.task, loaded.run.path if loaded.run else Path(loaded.source)
    best = loaded.training_config.best_metric or task.best_metric
    sections = [*(task.page.metric_sections(metrics) if task.page else ()), *sections]
    write_evaluation_page(folder, data, step, best, metrics, sections, html_file)


def _require_examples(loaded, eval_file, predictions_dir, keep_chosen):
    """Refuses what needs the examples themselves where there are none, or a task that has no such thing."""
    task = loaded.task
    if predictions_dir and not (eval_file and task.write_predictions):
        raise ValueError(
            f"predictions_dir is for a task that writes its predictions, with eval_file; "
            f"{loaded.source} has the task {task.name}."
        )
    if keep_chosen and not (eval_file and task.chooses):
        raise ValueError(
            f"keep_chosen is for a task with a temperature or thresholds, with eval_file; "
            f"{loaded.source} has the task {task.name}, which has none with its settings, or eval_file is "
            "missing."
        )


def _require_finite_losses(source, metrics):
    """Checks losses only: a score can be undefined, for example a correlation with a constant."""
    for name, value in metrics.items():
        if name.endswith("loss") and not math.isfinite(value):
            raise ValueError(
                f"{source}: {name} is {value}, not a finite number: the weights are damaged or far too "
                "large; use another checkpoint."
            )


def not_held_out(path) -> str:
    """The sentence for `split="dev"` where nothing was held out."""
    return (
        "split=dev needs a run that was trained with dev_split, and its training file as eval_file; "
        f"{path} was trained without it, or eval_file is missing."
    )


def held_out_part(run, data):
    """The examples that a run has not been trained on, of the file that it was trained on.

    Args:
      run: the `RunDirectory`.
      data: the `LabelledFile` of its training file.

    Raises:
      ValueError: when the run was trained without `dev_split`, or on other examples.
    """
    recorded = run.details.get("held_out")
    if not recorded:
        raise ValueError(not_held_out(run.path))
    _, held_out = data.split(run.config.dev_split, run.config.dev_split_seed)
    if held_out.digest != recorded["digest"]:
        raise ValueError(
            f"{data.path} is not what {run.path} was trained on: the {recorded['num_examples']} examples "
            "that were held out cannot be found again. Give the file as it was, as eval_file."
        )
    return held_out


def labelled_data(loaded, eval_file, input_dir=None, held_out=False):
    """The labelled examples that a model is evaluated on, ready to become batches.

    Args:
      loaded: the `LoadedModel`, see `LoadedModel.for_files`.
      eval_file, input_dir: as for `evaluate`.
      held_out: whether only the part is meant that `dev_split` held out.

    Returns:
      (data, function from the `Task` that scores and a batch size to a `tf.data.Dataset`): see `LabelledFile`
      and `LabelledRecords`.

    Raises:
      ValueError: when the data do not match the run.
    """
    from kbert.experiments.labelled_file import LabelledFile
    from kbert.input_pipelines.batches import evaluation_batches
    from kbert.input_pipelines.records.record_folders import LabelledRecords
    from kbert.tokenization.text_inputs import TextInputs

    task, length, config = loaded.task, loaded.max_seq_length, loaded.training_config
    if task.files is None:
        raise ValueError(
            f"{loaded.source} has the task {task.name}, which is not evaluated on labelled examples; "
            "fine-tune it first (kbert finetune)."
        )
    if eval_file:
        data = LabelledFile(eval_file, task.files, config.dataset)
        if held_out:
            data = held_out_part(loaded.run, data)
    else:
        settings = task.read_settings(config.task_settings)
        data = LabelledRecords(input_dir, type(task), length, settings)
        data.agreed_dataset(config.dataset)
    data.check_with(task, length)
    data.require_vocabulary(loaded.source, loaded.vocabulary.describe())

    def make_batches(task, batch_size):
        # By the task that scores: question answering keeps what it needs of the tokenization.
        data.tokenize_with(task, TextInputs(loaded.vocabulary, length))
        return evaluation_batches(data.rows, batch_size, config.pad_to_longest)

    return data, make_batches


def _pretraining_records(loaded, eval_file, input_dir, held_out=False):
    del held_out  # refused before: records of a pretraining have no such part
    from kbert.input_pipelines.batches import evaluation_batches
    from kbert.input_pipelines.records.record_folders import PretrainingRecords

    if eval_file:
        raise ValueError(
            f"{loaded.source} has the task {loaded.task.name}, but eval_file is for runs on labelled "
            "examples; give input_dir with records of kbert pretraining-data instead."
        )
    records = PretrainingRecords(input_dir)
    records.require_vocabulary(loaded.source, loaded.vocabulary.describe())
    if loaded.task.next_sentence and not records.next_sentence:
        raise ValueError(
            f"{input_dir} holds no next_sentence_labels, but {loaded.source} was trained on them; make the "
            "records with pairing=sentence_pairs or sentence_order."
        )
    records.require_room(loaded.config)
    records.check()
    return records, lambda task, batch_size: evaluation_batches(records.rows, batch_size)


def add_baselines(task, metrics: dict, data: dict, config, vocabulary) -> dict:
    """The metrics of a run, and what the best constant answer scores on the same data.

    Args:
      task: the `Task`.
      metrics: those of the last evaluation.
      data: what stands before the names of its metrics -> development data; "" for the first.
      config: the `FinetuningConfig`.
      vocabulary: the run's.

    Returns:
      The metrics with, for example, `baseline_accuracy` and `mismatched_baseline_accuracy`.
    """
    from kbert.input_pipelines.batches import evaluation_batches

    with_baselines = dict(metrics)
    for prefix, source in data.items():
        batches = evaluation_batches(source.rows, config.eval_batch_size, config.pad_to_longest)
        baseline = task.baseline(batches.as_numpy_iterator(), vocabulary)
        with_baselines |= {prefix + name: value for name, value in baseline.items()}
    return with_baselines


def no_better_than_constant(
    metrics: dict, higher_is_better, class_weights=False, advice="another seed, or a smaller learning rate"
) -> list[str]:
    """A sentence for each metric that is no better than that of the best constant answer.

    A classifier that ends at the most frequent label has learnt nothing; with few examples that happens to
    some seeds (arXiv 2006.04884, section 4).

    Args:
      metrics: as of `add_baselines`.
      higher_is_better: function from a metric's name to whether more of it is better.
      class_weights: whether the sentence names `class_weights`, for a task that has them.
      advice: what to try.
    """
    balanced = ", or for rare labels task_settings.class_weights=balanced" if class_weights else ""
    sentences = []
    for name, constant in metrics.items():
        metric = name.replace("baseline_", "", 1)
        value = metrics.get(metric)
        if metric == name or not isinstance(value, float) or not isinstance(constant, float):
            continue
        if math.isnan(constant):  # of labels that are all the same nothing is better than anything
            continue
        ahead = value - constant if higher_is_better(metric) else constant - value
        if not ahead > _ROUNDING * max(1.0, abs(constant)):  # also for not-a-number
            sentences.append(
                f"This run does no better than a constant answer: {metric} {value:.4g}, the best constant "
                f"answer {constant:.4g}. Try {advice}{balanced}."
            )
    return sentences
