"""What a run does with the options of fine-tuning, on the tiniest model."""

import dataclasses

import pytest

from kbert.config import DatasetConfig
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import run_finetuning
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_finetuning_config


@pytest.fixture(scope="module")
def split_run(pretraining_run, labelled_files, tmp_path_factory):
    """A run on one file, with balanced weights: (its `RunDirectory`, metrics, config)."""
    folder = tmp_path_factory.mktemp("options") / "run"
    settings = {"class_weights": "balanced", "label_smoothing": 0.1}
    dataset = DatasetConfig(text="sentence", label="label")
    config = tiny_finetuning_config(
        dev_split=0.2, num_train_epochs=0.5, task_settings=settings, dataset=dataset
    )
    _, metrics = run_finetuning(config, folder, labelled_files[0], init_checkpoint=pretraining_run.path)
    return RunDirectory(folder), metrics, config


@pytest.mark.slow
def test_a_run_on_one_file_is_evaluated_on_its_held_out_part(split_run, labelled_files, tmp_path):
    run, metrics, _ = split_run
    assert sum(map(sum, metrics["confusion"])) == run.details["held_out"]["num_examples"] == 8
    assert run.details["num_train_examples"] == 32
    assert [sum(row) for row in metrics["confusion"]] == [4, 4]
    _, alone = evaluate(run, labelled_files[0], held_out=True)
    assert alone["num_examples"] == 8
    for name in ("loss", "accuracy", "baseline_accuracy"):  # the loss of evaluation has no weights
        assert metrics[name] == pytest.approx(alone[name], abs=1e-6), name
    header, *lines = labelled_files[0].read_text().splitlines(keepends=True)
    shuffled = tmp_path / "other_order.tsv"
    shuffled.write_text("".join([header, *lines[::-1]]))
    _, again = evaluate(run, shuffled, held_out=True)
    assert again["loss"] == pytest.approx(alone["loss"], abs=1e-6)
    changed = tmp_path / "changed.tsv"
    changed.write_text("".join([header, *lines[: len(lines) // 2]]))
    with pytest.raises(ValueError, match="the 8 examples that were held out cannot be found again"):
        evaluate(run, changed, held_out=True)


@pytest.mark.slow
def test_a_run_records_the_numbers_that_balanced_stood_for(split_run):
    run, _, _ = split_run
    assert run.details["task_config"]["class_weights"] == {"loud": 1.0, "quiet": 1.0}
    assert run.task().settings.label_smoothing == 0.1
    assert run.config.task_settings["class_weights"] == "balanced"


@pytest.mark.slow
def test_the_same_command_again_finds_the_same_split(split_run, pretraining_run, labelled_files):
    run, metrics, config = split_run
    _, again = run_finetuning(config, run.path, labelled_files[0], init_checkpoint=pretraining_run.path)
    assert again["loss"] == pytest.approx(metrics["loss"], abs=1e-6)
    other = dataclasses.replace(config, dev_split_seed=1)
    with pytest.raises(ValueError, match="content of its training data has changed"):
        run_finetuning(other, run.path, labelled_files[0], init_checkpoint=pretraining_run.path)


@pytest.mark.slow
def test_a_run_without_a_split_has_no_held_out_part(finetuned_run, labelled_files):
    with pytest.raises(ValueError, match="--split=dev is for a run that was trained with dev_split"):
        evaluate(finetuned_run, labelled_files[0], held_out=True)


def test_a_split_and_a_development_file_are_refused_together(labelled_files, tmp_path):
    config = tiny_finetuning_config(dev_split=0.1)
    with pytest.raises(ValueError, match="is given for that as well; leave one of them out"):
        run_finetuning(config, tmp_path / "run", *labelled_files)
    with pytest.raises(ValueError, match="holds records; give the file"):
        run_finetuning(config, tmp_path / "run", train_dir=tmp_path)
    with pytest.raises(ValueError, match="dev_split=1.0 must lie between 0 and 1"):
        tiny_finetuning_config(dev_split=1.0)
