"""Every task with a teacher: one wrapper, nothing of the task changed, nothing of the teacher."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.config import DistillationConfig
from kbert.distillation.distillation import Distillation
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import Pretraining
from tests.kbert.distillation.small_teacher import ALL_LOSSES, calm, random_teacher, taught
from tests.kbert.tasks.test_task_model import features, make_batch, make_task
from tests.kbert.test_encoder import randomize
from tests.kbert.test_training_path import PACKED_POSITIONS
from tests.kbert.test_training_path import batch as packed_batch

# Two soft targets; no pooler; several sequences to an example. The formulas are in test_losses.py.
TASKS = ("pretraining", "token_classification", pytest.param("multiple_choice", marks=pytest.mark.long))
STUDENT, TEACHER = calm(num_hidden_layers=1, hidden_size=8), calm(num_hidden_layers=2)


def losses_of(task, model, batch):
    """name -> mean of every loss in training, as a step computes it."""
    outputs = model(features(model, batch), training=True)
    weights, sums = task.loss_weights(batch, training=True), task.loss_sums(outputs, batch, training=True)
    assert sums.keys() == weights.keys()
    return {name: sums[name] / weights[name] for name in sums}


@pytest.fixture(scope="module", params=TASKS)
def case(request):
    """(task, its distillation, model, batch): a narrow student of one layer, a teacher of two."""
    task = make_task(request.param)
    return task, *taught(task, STUDENT, TEACHER), make_batch(request.param, TEACHER)


def test_a_student_gets_a_gradient_from_every_loss_and_the_teacher_none(case):
    task, distillation, model, batch = case
    trained = trained_weights(model)
    own = {v.path for v in model.student.trainable_variables}
    assert set(trained) == own | {f"distillation_projection/{name}" for name in ("kernel", "bias")}
    with tf.GradientTape(persistent=True) as tape:
        losses = losses_of(distillation, model, batch)
        total = sum(value * distillation.loss_factor(name) for name, value in losses.items())
    expected = {name for base in task.loss_weights(batch) for name in (base, f"soft_{base}")}
    assert set(losses) == expected | {"hidden_loss", "cosine_loss"}
    variables = [variable.value for variable in trained.values()]
    for name, value in losses.items():
        gradients = [g for g in tape.gradient(value, variables) if g is not None]
        assert value > 0 and tf.linalg.global_norm(gradients) > 0, name
    assert all(gradient is not None for gradient in tape.gradient(total, variables))
    # Frozen: the optimizer and the checkpoints go by what is trainable.
    assert not model.teacher.trainable_variables


def test_a_student_that_is_its_teacher_has_nothing_to_learn(case):
    task = case[0]
    config = DistillationConfig(teacher="random", label_weight=0.0, hidden_weight=1.0, cosine_weight=1.0)
    distillation, model = taught(task, TEACHER, TEACHER, config)
    random_teacher(task, TEACHER).load_into(model.student, getattr(task, "labels", ()))
    with tf.GradientTape() as tape:
        losses = losses_of(distillation, model, case[3])
        total = sum(value * distillation.loss_factor(name) for name, value in losses.items())
    for name, value in losses.items():
        assert name in task.loss_weights(case[3]) or abs(float(value)) < 1e-5, name
    for gradient in tape.gradient(total, [v.value for v in model.trainable_variables]):
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), 0.0, atol=2e-5)


def test_evaluated_it_is_the_student_alone(case):
    task, distillation, model, batch = case
    outputs = model(features(model, batch), training=False)
    assert outputs.keys() == model.student.output.keys()
    for name, value in model.student(features(model, batch), training=False).items():
        np.testing.assert_array_equal(outputs[name], value)
    assert distillation.loss_sums(outputs, batch).keys() == task.loss_weights(batch).keys()


def test_metrics_show_losses_without_their_weights():
    factors = {
        "masked_lm_loss": 0.5, "next_sentence_loss": 0.5, "soft_masked_lm_loss": 2.0,
        "soft_next_sentence_loss": 2.0, "hidden_loss": 0.3, "cosine_loss": 0.7,
    }  # fmt: skip
    distillation = Distillation(Pretraining(), ALL_LOSSES, teacher=None)
    assert {name: distillation.loss_factor(name) for name in factors} == factors


def test_vectors_of_another_width_are_taught_by_hidden_states():
    """And a loss of weight 0 is not there: no soft targets, which could not be compared, no cosine."""
    config = DistillationConfig(teacher="random", soft_label_weight=0.0, hidden_weight=1.0)
    task = make_task("multiple_negatives_ranking")
    distillation, model = taught(task, STUDENT, TEACHER, config)
    losses = losses_of(distillation, model, make_batch(task.name, TEACHER))
    assert set(losses) == {"loss", "hidden_loss"}
    assert all(np.isfinite(value) and value > 0 for value in losses.values())


def test_soft_labels_of_another_number_of_words_are_refused():
    with pytest.raises(ValueError, match="masked_lm_logits of the student has shape .* the same vocab_size"):
        taught(make_task("masked_lm"), calm(vocab_size=60), TEACHER)


def test_the_student_starts_as_without_a_teacher():
    keras.utils.set_random_seed(1)
    alone = make_task("sequence_classification").build_model(BertEncoder(STUDENT))
    _, model = taught(make_task("sequence_classification"), STUDENT, TEACHER)
    for own, same in zip(model.student.trainable_variables, alone.trainable_variables, strict=True):
        np.testing.assert_array_equal(own, same)


def test_each_layer_of_the_student_imitates_its_layer_of_the_teacher():
    config = DistillationConfig(teacher="random", hidden_weight=1.0)
    teacher = calm(num_hidden_layers=3)
    _, model = taught(make_task("masked_lm"), calm(num_hidden_layers=2), teacher, config)
    batch = make_batch("masked_lm", teacher)
    outputs = model(features(model, batch), training=True)
    encoder = model.teacher.get_layer("encoder").with_outputs("hidden_states")
    states = encoder({name: batch[name] for name in encoder.input})["hidden_states"]
    for got, want in zip(outputs["teacher_states"], (states[0], states[2], states[3]), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.long
def test_packed_rows_and_16_bits_learn_the_same():
    task, batch = make_task("token_classification"), packed_batch()
    labels = np.random.default_rng(0).integers(-1, 3, batch["input_ids"].shape).astype(np.int32)
    batch = batch | {"label_ids": np.where(batch["input_mask"] > 0, labels, -1)}
    measured = []
    for settings in ({}, {"packed": True}, {"dtype": "mixed_bfloat16"}):
        distillation, model = taught(task, STUDENT, TEACHER, **settings)
        randomize(model.student)
        measured.append(losses_of(distillation, model, batch | {"packed_positions": PACKED_POSITIONS}))
    plain, packed, short = ({name: float(value) for name, value in losses.items()} for losses in measured)
    assert packed == pytest.approx(plain, rel=1e-4)
    assert short == pytest.approx(plain, rel=0.1) and short != plain


@pytest.mark.slow
def test_labels_in_another_order_are_the_same_labels():
    task = make_task("sequence_classification")  # a, b, c
    same, other = (random_teacher(task, TEACHER, labels=labels) for labels in ("abc", "cab"))
    batch = make_batch("sequence_classification", TEACHER)
    logits = []
    for teacher in (same, other):
        model = Distillation(task, ALL_LOSSES, teacher).build_model(BertEncoder(STUDENT))
        logits.append(model.teacher(features(model, batch))["logits"].numpy())
    np.testing.assert_allclose(logits[1], logits[0][:, [1, 2, 0]], atol=1e-6)
