"""A training with a teacher is an ordinary run: it goes on exactly, and what it leaves is the student."""

import dataclasses
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DistillationConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.init import Init
from kbert.experiments.pretraining import pretrain
from kbert.experiments.start import Start
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.checkpoints.random_checkpoint import random_checkpoint
from tests.kbert.training.run_contents import assert_same_runs

PROJECTION = "distillation_projection/kernel"


def narrow_student(teacher, **changes):
    """A student from random weights, narrower than its teacher, that learns by every loss."""
    settings = DistillationConfig(str(teacher), 2.0, hidden_weight=1.0, cosine_weight=0.5, **changes)
    return tiny_finetuning_config(
        encoder=tiny_encoder_config(hidden_size=8, num_hidden_layers=1),
        distillation=settings,
        save_checkpoints_steps=7,
    )


@pytest.mark.slow
@pytest.mark.long
def test_a_run_with_a_teacher_goes_on_exactly_and_leaves_the_student_alone(
    finetuned_run, labelled_files, tmp_path
):
    teacher = shutil.copytree(finetuned_run.path, tmp_path / "teacher")
    config = narrow_student(teacher)
    finetune(config, tmp_path / "whole", *labelled_files)
    stopped = RunDirectory(shutil.copytree(tmp_path / "whole", tmp_path / "stopped"))
    shutil.rmtree(stopped.checkpoint("last"))
    moved = teacher.rename(tmp_path / "moved")
    gone = "the teacher cannot be read: checkpoint .*teacher does not exist"
    with pytest.raises(ValueError, match=gone):
        finetune(config, stopped.path, *labelled_files)
    finetune(narrow_student(moved), stopped.path, *labelled_files)
    whole = RunDirectory(tmp_path / "whole")
    assert_same_runs(whole, stopped)

    # The weights are the student's; what only training needs lies with the optimizer.
    checkpoint = whole.checkpoint()
    _, _, student = whole.load_checkpoint()
    assert set(load_file(checkpoint / "model.safetensors")) == {v.path for v in student.trainable_variables}
    kept = load_file(checkpoint / "optimizer.safetensors")
    assert kept[PROJECTION].shape == (8, 16) and f"{PROJECTION}/adam_m" in kept
    read_checkpoint(whole.path)  # and nothing that a reader would not know

    lines = read_metrics(whole.metrics_file)
    train, evaluation = ([line for line in lines if line["split"] == split] for split in ("train", "eval"))
    for name in ("loss", "soft_loss", "hidden_loss", "cosine_loss"):
        assert train[-1][name] > 0
    assert "soft_loss" not in evaluation[-1]
    _, metrics = evaluate(whole, labelled_files[1], batch_size=5)
    assert metrics["loss"] == pytest.approx(evaluation[-1]["loss"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.long
def test_a_student_starts_from_layers_of_its_teacher(pretraining_run, records_dir, tmp_path):
    """At a learning rate of almost nothing it stays what it was: DistilBERT's start, in small."""
    settings = DistillationConfig(
        str(pretraining_run.path), 2.0, cosine_weight=1.0, soft_label_weight=5.0, label_weight=2.0,
        init_layers=(0, 0),
    )  # fmt: skip
    config = tiny_pretraining_config(
        encoder=None, distillation=settings, num_train_steps=2, num_warmup_steps=0
    )
    slow = dataclasses.replace(config.optimizer, learning_rate=1e-12)
    pretrain(dataclasses.replace(config, optimizer=slow), tmp_path / "run", records_dir / "train")
    run = RunDirectory(tmp_path / "run")
    assert run.config.encoder.num_hidden_layers == 2 and run.details["init_checkpoint"] == settings.teacher
    _, _, model = run.load_checkpoint()
    teacher = read_checkpoint(pretraining_run.path).tensors
    for variable in model.trainable_variables:
        expected = teacher[variable.path.replace("layer_1/", "layer_0/")].read()
        np.testing.assert_allclose(variable, expected, atol=1e-6, err_msg=variable.path)
    (line,) = [line for line in read_metrics(run.metrics_file) if line["split"] == "train"]
    assert {"soft_masked_lm_loss", "soft_next_sentence_loss", "cosine_loss"} <= line.keys()


@pytest.mark.parametrize("task", ["multiple_negatives_ranking", "late_interaction"])
def test_a_student_of_random_weights_reads_texts_as_its_teacher(tmp_path, task):
    """The states that it learns are of texts with the teacher's prompts, and so are its answers."""
    pooling = PoolingConfig("cls", False, prompts={"query": "a "}, similarity_fn_name="dot")
    teacher = dataclasses.replace(random_checkpoint("encoder"), pooling=pooling)
    write_checkpoint(teacher, tmp_path / "teacher", "hugging_face")
    settings = DistillationConfig(str(tmp_path / "teacher"), soft_label_weight=0.0, hidden_weight=1.0)
    config = tiny_finetuning_config(task=task, distillation=settings)
    new_task = TASKS[task].from_labels(())
    start = Start(config, Init(), tmp_path / "run", new_task)
    assert start.pooling == pooling and start.has_weights is False
    student = new_task.with_pooling(start.pooling)
    assert student.pooling.prompts == pooling.prompts
    assert task == "late_interaction" or student.pooling == pooling
