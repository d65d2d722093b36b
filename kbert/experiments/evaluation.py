"""A trained run + held-out data -> metrics, with those of the best constant answer for comparison."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.checks import require, require_single, with_checked_arguments
from kbert.config import FinetuningConfig, config_with_settings
from kbert.experiments import evaluation_run, show_lines
from kbert.files.output_path import check_output_file, require_local
from kbert.inference import loading
from kbert.input_pipelines.data_files import LabelledData, data_as_files
from kbert.runs.columns_of_run import require_columns_of_model

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel
    from kbert.runs.run_directory import RunDirectory

MOST_EXAMPLES = 50  # on a page


@with_checked_arguments
def evaluate(
    run_dir: Union[str, os.PathLike, "RunDirectory", "LoadedModel"],
    eval_file: LabelledData = None,
    input_dir: str | os.PathLike | None = None,
    batch_size: Annotated[int, Bounds(1)] | None = None,
    checkpoint: str | int | None = None,
    predictions_dir: str | os.PathLike | None = None,
    keep_chosen: bool = False,
    split: Literal["all", "dev"] = "all",
    html_file: str | os.PathLike | None = None,
    html_examples: Annotated[int, Bounds(0)] = MOST_EXAMPLES,
    *,
    config: FinetuningConfig | str | os.PathLike | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
):
    """Evaluates a model on held-out data, as `kbert evaluate` does with the flags of these names.

    Args:
      run_dir: the model: a run directory, or any checkpoint with its head. In Python also a `RunDirectory`;
        or a `LoadedModel`, whose weights, length and precision are then judged as they are in memory.
      eval_file: labelled file, for a fine-tuned model. In Python also data in memory, as for
        `kbert.finetune`, in columns of the same names. Give either this or `input_dir`.
      input_dir: folder of records, for a pretraining or a fine-tuned run.
      batch_size: examples at a time, 64 if not given. A loss that takes the texts of a batch together takes
        those of training, `eval_batch_size` (32 for another library's checkpoint without a `config`).
      predictions_dir: folder for the predictions on `eval_file`, in the files of the task. Question answering
        writes predictions.json and nbest_predictions.json, with no-answers also null_odds.json.
      keep_chosen: keep the temperature and the thresholds that are best for `eval_file` with the run: all its
        later predictions use them.
      split: dev: `eval_file` is the training file; only the examples that dev_split held out are taken.
      html_file: a page to write, one file without scripts: scores, calibration, scores by length, the most
        confident errors with their texts, learning curves.
      html_examples: the largest number of examples on the page of `html_file`.
      config: for a checkpoint of another library: a fine-tuning config of its task. Its [dataset] names the
        columns of `eval_file`, and its task_settings, max_seq_length and eval_batch_size are used (a length
        of `with_max_seq_length` stays). Without it, the columns are text, text_pair and label, the settings
        are the defaults, and the length is the checkpoint's.
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
    require(
        bool(html_file) or html_examples == MOST_EXAMPLES,
        f"html_examples={html_examples} are those of html_file, which is not given; give both or neither.",
    )
    require_local(predictions_dir)
    model_path = loading.model_path(run_dir)
    config = None if config is None else config_with_settings(FinetuningConfig, config, {})
    for_runs = {"keep_chosen": keep_chosen, "checkpoint": checkpoint, "split": split == "dev"}
    needs_run = next((name for name, value in for_runs.items() if value), "")
    with data_as_files({"the data": eval_file}) as (eval_file,):
        require_single({"eval_file (labelled examples)": eval_file, "input_dir (records)": input_dir})
        if eval_file:
            require_columns_of_model(eval_file, model_path, config)
        if html_file:
            read = [*filter(None, (eval_file, input_dir)), *formats.kept_files(model_path)]
            check_output_file(Path(html_file), read, overwrite=True)
        loaded = loading.open_model(run_dir, do_lower_case, allow_unmatched, checkpoint, needs_run=needs_run)
        loaded = loaded.for_files(config)
        outputs = evaluation_run.Outputs(predictions_dir, keep_chosen, html_file, html_examples)
        return evaluation_run.run_evaluation(
            loaded, eval_file, input_dir, split == "dev", batch_size, outputs
        )
