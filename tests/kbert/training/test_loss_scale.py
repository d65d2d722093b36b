"""Dynamic loss scaling: invisible while all goes well, and a step is skipped where gradients overflow."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from kbert.runs.checkpoint import list_checkpoints
from kbert.training.loss_scale import FIRST_SCALE, LARGEST_SCALE, STEPS_TO_GROW, DynamicLossScale
from tests.kbert.training import one_weight
from tests.kbert.training.run_contents import assert_same_runs, numbers, tensors
from tests.kbert.training.small_training import SmallTraining, random_batches

STEP = {"dropout": 0.0, "learning_rate": 5e-3}


def values_of(state):
    return [float(variable.numpy()) for variable in state.values()]


def test_the_scale_doubles_after_many_good_steps_and_halves_at_an_overflow():
    scale = DynamicLossScale()
    update = tf.function(scale.update)
    state = scale.state()
    for _ in range(3):
        update(tf.constant(True))
    assert values_of(state) == [FIRST_SCALE, 3, 0]
    state["loss_scale/good_steps"].assign(STEPS_TO_GROW - 2)
    update(tf.constant(True))
    assert values_of(state) == [FIRST_SCALE, STEPS_TO_GROW - 1, 0]
    update(tf.constant(True))
    assert values_of(state) == [2 * FIRST_SCALE, 0, 0]
    update(tf.constant(True))
    update(tf.constant(False))
    assert values_of(state) == [FIRST_SCALE, 0, 1]
    state["loss_scale/scale"].assign(LARGEST_SCALE)
    state["loss_scale/good_steps"].assign(STEPS_TO_GROW - 1)
    update(tf.constant(True))
    assert values_of(state) == [LARGEST_SCALE, 0, 1]
    state["loss_scale/scale"].assign(1.0)
    update(tf.constant(False))
    assert values_of(state) == [1.0, 0, 2]


@pytest.mark.slow
def test_an_overflow_skips_the_step_but_not_the_data():
    """Scaled like float16, but computed in float32, where a power of 2 changes no digit."""
    training = SmallTraining(random_batches(2, batch_size=8), precision="float16", **STEP)
    scale = training.step.state()["loss_scale/scale"]
    scale.assign(3e38)
    before = training.snapshot()
    skipped = training.run()
    assert training.global_step.numpy() == 1
    assert skipped["skipped_steps"] == 1 and skipped["loss_scale"] == np.float32(3e38)
    assert all(np.isfinite(value).all() for value in skipped.values())
    after = training.snapshot()
    assert after["loss_scale/scale"] == np.float32(1.5e38) and after["loss_scale/skipped_steps"] == 1
    for name in training.weights | training.optimizer.slots():
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)

    scale.assign(1024.0)
    second = training.run()
    assert second["skipped_steps"] == 0
    training.restart()
    training.run()
    # From the same weights, on the second batch: the first step was another one only by its update.
    assert second["masked_lm_loss"] != training.run()["masked_lm_loss"]


@pytest.mark.slow
@pytest.mark.long
def test_the_optimizer_counts_only_the_steps_it_took():
    training = SmallTraining(
        random_batches(1, batch_size=8), precision="float16", optimizer_name="adamw", **STEP
    )
    training.step.state()["loss_scale/scale"].assign(3e38)
    training.run()
    training.step.state()["loss_scale/scale"].assign(1024.0)
    training.run()
    after_skip = training.snapshot()
    plain = SmallTraining(random_batches(1, batch_size=8), optimizer_name="adamw", **STEP)
    plain.global_step.assign(1)  # for the learning rate
    plain.step._first_update = 1
    plain.run()
    for name, value in plain.snapshot().items():
        np.testing.assert_allclose(after_skip[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.long
@pytest.mark.slow
def test_a_float16_run_keeps_its_scale_in_the_checkpoint(tmp_path, monkeypatch):
    """With two micro-batches; resumed after step 4, it ends with the very same numbers."""
    one_weight.register(monkeypatch)
    config = one_weight.config_of(precision="float16", gradient_accumulation_steps=2)
    _, whole = one_weight.train_one_weight(tmp_path / "whole", config)
    resumed = shutil.copytree(whole.path, tmp_path / "resumed")
    shutil.rmtree(list_checkpoints(resumed / "checkpoints")[-1])
    _, resumed = one_weight.train_one_weight(resumed, config)
    assert_same_runs(resumed, whole)
    last = [line for line in numbers(resumed) if line["split"] == "train"][-1]
    assert last["loss_scale"] == FIRST_SCALE and last["skipped_steps"] == 0
    saved = tensors(resumed)
    assert saved["loss_scale/good_steps"] == 8 and saved["loss_scale/scale"] == FIRST_SCALE
