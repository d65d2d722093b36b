"""Every task's model as an ordinary Keras model: saved, loaded, composed, trained by `fit`."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.features import EXAMPLE_WEIGHTS
from kbert.tasks import TASKS
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.task_loss import TaskLoss
from kbert.tasks.task_model import TaskModel
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.test_encoder import random_inputs, randomize

pytestmark = pytest.mark.usefixtures("eager")

# The model of "encoder" is the encoder itself; those of other vectors have tests of their own.
NAMES = sorted(name for name in TASKS if name != "encoder" and TASKS[name].text_vectors_class is None)
ROWS, LENGTH = 6, 8
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def the_same_weights():
    """A fit learns, or does not, whichever tests ran before."""
    keras.utils.set_random_seed(1)


def calm_config():
    return tiny_encoder_config(num_hidden_layers=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def make_task(name):
    return TASKS[name].from_labels(("a", "b", "c"))


@functools.cache
def calm_model(name):
    """Made once for all tests that compile it anew and change none of its weights."""
    return make_task(name).build_model(BertEncoder(calm_config()))


def calm_case(name):
    """(model, batch)"""
    return calm_model(name), make_batch(name, calm_model(name).encoder.config)


def make_batch(name, config):
    """Encoder inputs and labels for a task."""
    batch = random_inputs(config, ROWS, LENGTH)
    real_lengths = batch["input_mask"].sum(axis=-1)  # no answer stands on padding
    places = RNG.integers(0, LENGTH, size=(ROWS, 3)).astype(np.int32)
    if name in ("multiple_choice", "cosine_similarity", "multiple_negatives_ranking"):
        batch = {key: np.stack([value, value[::-1]], axis=1) for key, value in batch.items()}
    labels = {
        "masked_lm_positions": places,
        "masked_lm_ids": RNG.integers(0, config.vocab_size, size=(ROWS, 3)).astype(np.int32),
        "masked_lm_weights": np.ones((ROWS, 3), np.float32),
        "next_sentence_labels": places[:, :1] % 2,
        "start_positions": places[:, 0] % real_lengths,
        "end_positions": places[:, 1] % real_lengths,
        "label_ids": np.arange(ROWS, dtype=np.int32) % 2,  # of both classes, whatever was drawn before
        "targets": places[:, 0].astype(np.float32),
    }
    if name == "multiple_negatives_ranking":
        labels["targets"] = np.full(ROWS, np.nan, np.float32)  # pairs without scores
    if name == "cosine_similarity":
        labels["targets"] = labels["targets"] / LENGTH
    if name == "multi_label_classification":
        labels["label_ids"] = places % 2
    if name == "token_classification":
        labels["label_ids"] = RNG.integers(-1, 3, size=(ROWS, LENGTH)).astype(np.int32)
    return batch | labels


def features(model, batch):
    return {name: batch[name] for name in model.input}


@pytest.fixture(scope="module", params=mostly_long(NAMES, ("masked_lm", "multiple_choice")))
def case(request):
    """(name, model with random weights, batch)."""
    config = tiny_encoder_config(num_hidden_layers=1)
    model = make_task(request.param).build_model(BertEncoder(config))
    randomize(model)
    return request.param, model, make_batch(request.param, config)


def test_save_and_load_keep_answers_names_and_the_shared_table(case, tmp_path):
    name, model, batch = case
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is TaskModel and loaded.task.name == name
    assert loaded.task.get_config() == model.task.get_config()
    assert loaded.encoder.config == model.encoder.config
    assert [v.path for v in loaded.trainable_variables] == [v.path for v in model.trainable_variables]
    for output, value in model(features(model, batch)).items():
        np.testing.assert_array_equal(loaded(features(model, batch))[output], value)


@pytest.mark.long
def test_two_models_of_a_task_in_one_are_saved_by_the_names_they_have(tmp_path):
    config, task = calm_config(), SequenceClassification(("a", "b"))
    models = [task.build_model(BertEncoder(config)) for _ in range(2)]
    models[0].name, models[1].name = "first", "second"
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in models[0].input}
    mean = keras.layers.Average()([model(inputs)["logits"] for model in models])
    both = keras.Model(inputs, mean)
    both.save(tmp_path / "both.keras")
    loaded = keras.saving.load_model(tmp_path / "both.keras")
    batch = random_inputs(config, ROWS, LENGTH)
    np.testing.assert_array_equal(loaded(batch), both(batch))
    assert type(loaded.get_layer("second")) is TaskModel


def test_a_loss_of_one_s_own_reads_its_labels_from_y(case):
    _, model, batch = case
    model.compile("sgd", loss={next(iter(model.output)): "mse"})
    with pytest.raises(ValueError, match="a loss of your own, which reads its labels from y"):
        model.test_on_batch(batch)
    model.compile("sgd")


def test_every_weight_of_a_task_gets_a_gradient(case):
    name, model, batch = case
    batch = {key: tf.constant(value) for key, value in batch.items()}
    with tf.GradientTape() as tape:
        outputs = model(features(model, batch), training=True)
        loss = tf.add_n(list(model.task.loss_sums(outputs, batch).values()))
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    assert not [v.path for v, g in zip(model.trainable_variables, gradients, strict=True) if g is None]


PRECISIONS = itertools.cycle(["float32", "mixed_bfloat16", "mixed_float16"])
# `make test` fits one whose rows are coupled, without a graph; graphs are those of `make test-long`.
FITTED = {"multiple_negatives_ranking"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        pytest.param(name, precision, marks=() if name in FITTED else pytest.mark.exhaustive)
        for name, precision in zip(NAMES, PRECISIONS, strict=False)
    ],
)
def test_fit_on_dicts_learns_the_tasks_loss(name, precision):
    tf.config.run_functions_eagerly(name in FITTED)
    config = calm_config()
    model = make_task(name).build_model(BertEncoder(config, precision))
    batch = make_batch(name, config)
    outputs = model(features(model, batch))
    dtypes = {keras.backend.standardize_dtype(value.dtype) for value in outputs.values()}
    assert dtypes <= {"float32", "int32"}, "losses are in float32"
    expected = sum(
        float(total) / float(model.task.loss_weights(batch)[loss]) * model.task.loss_factor(loss)
        for loss, total in model.task.loss_sums(outputs, batch).items()
    )
    model.compile(keras.optimizers.Adam(1e-2), jit_compile=False)
    dataset = tf.data.Dataset.from_tensors(batch).repeat(2 if name in FITTED else 8)
    history = model.fit(dataset, epochs=2, verbose=0, shuffle=False).history["loss"]
    assert history[1] < history[0] < expected * 1.05
    assert all(weight.dtype == "float32" for weight in model.trainable_weights)


def test_what_is_frozen_stays_frozen_in_a_file(tmp_path):
    model = make_task("sequence_classification").build_model(BertEncoder(calm_config()))
    for frozen in (
        model.encoder.embeddings,
        model.encoder.blocks[0].attention,
        model.get_layer("classification"),
    ):
        frozen.trainable = False
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [v.path for v in loaded.trainable_variables] == [v.path for v in model.trainable_variables] != []
    assert not loaded.encoder.embeddings.trainable
    for frozen in (
        loaded.encoder.embeddings,
        loaded.encoder.blocks[0].attention,
        loaded.get_layer("classification"),
    ):
        frozen.trainable = True
    assert len(loaded.trainable_variables) == len(loaded.weights)


@pytest.mark.parametrize(
    "name", ["sequence_classification", "multiple_choice", "next_sentence", "pretraining"]
)
def test_a_task_that_reads_the_pooler_says_that_there_is_none(name):
    encoder = BertEncoder(tiny_encoder_config(), outputs=["sequence_output"])
    with pytest.raises(ValueError, match='this encoder has no pooler; build it with "pooled_output"'):
        make_task(name).build_model(encoder)


def test_an_adapter_of_keras_is_added_to_its_weight_in_a_file(tmp_path):
    model = make_task("sequence_classification").build_model(BertEncoder(calm_config()))
    randomize(model)
    dense = model.get_layer("classification").dense
    dense.enable_lora(2)
    dense.lora_kernel_b.assign(np.ones(dense.lora_kernel_b.shape))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    batch = features(model, make_batch("sequence_classification", model.encoder.config))
    np.testing.assert_allclose(loaded(batch)["logits"], model(batch)["logits"], atol=1e-6)
    assert all(weight.trainable for weight in loaded.weights if "seed" not in weight.path)


@pytest.mark.long
def test_float16_scales_the_loss():
    """Gradients of a scaled-down loss are 0 in float16."""
    model = make_task("sequence_classification").build_model(BertEncoder(calm_config(), "mixed_float16"))
    model.compile(keras.optimizers.Adam(1e-2), jit_compile=False)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    batch = make_batch("sequence_classification", model.encoder.config)
    history = model.fit(batch, epochs=4, batch_size=ROWS, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < history[0] and model.dtype_policy.variable_dtype == "float32"


@pytest.mark.parametrize(  # one for each head
    "name",
    ["multiple_choice", "pretraining", "question_answering", "sequence_regression", "token_classification"],
)
def test_logits_of_labels_are_not_rounded_to_16_bits(name):
    """In bfloat16 those from 8 to 16 are multiples of 1/16: ties that no score knows."""
    config = tiny_encoder_config(num_hidden_layers=1)
    model = make_task(name).build_model(BertEncoder(config, "mixed_bfloat16"))
    randomize(model)
    outputs = model(features(model, make_batch(name, config)), training=False)
    names = [
        output
        for output in outputs
        if output in ("logits", "prediction", "start_logits", "next_sentence_logits")
    ]
    assert names
    for output in names:
        values = tf.reshape(outputs[output], [-1])
        rounded = tf.cast(tf.cast(values, "bfloat16"), "float32")
        assert values.dtype == "float32" and np.mean(rounded == values) < 0.2, output


def test_fit_with_features_and_labels_apart_and_weights():
    config = calm_config()
    model = SequenceClassification(("a", "b", "c")).build_model(BertEncoder(config))
    batch = make_batch("sequence_classification", config)
    inputs, labels = features(model, batch), {"label_ids": batch["label_ids"]}
    weights = np.array([1, 1, 1, 0, 0, 0], np.float32)
    model.compile()
    whole = model.evaluate(inputs, labels, batch_size=ROWS, verbose=0)
    first = model.evaluate(inputs, labels, batch_size=ROWS, sample_weight=weights, verbose=0)
    task, outputs = model.task, model(inputs)
    assert whole == pytest.approx(float(task.loss_sums(outputs, batch)["loss"]) / ROWS, rel=1e-5)
    weighted = batch | {EXAMPLE_WEIGHTS: weights}
    assert first == pytest.approx(float(task.loss_sums(outputs, weighted)["loss"]) / 3, rel=1e-5)
    parts = model.evaluate(inputs, labels, batch_size=4, sample_weight=weights, verbose=0)
    assert parts == pytest.approx(first, rel=1e-5)  # the second batch has no weight
    assert model.evaluate(inputs, batch["label_ids"], batch_size=ROWS, verbose=0) == whole
    with pytest.raises(ValueError, match="needs 'label_ids' in each batch.*give it by name"):
        model.evaluate(inputs, None, batch_size=ROWS, verbose=0)
    for loss in ("sparse_categorical_crossentropy", {"label_ids": "sparse_categorical_crossentropy"}):
        with pytest.raises(ValueError, match="Name it, as loss={'logits'.*gives logits, probabilities"):
            model.compile(loss=loss)
    with pytest.raises(ValueError, match="expected a dict of input_ids, .*received a list of 3"):
        model.predict(list(inputs.values()), verbose=0)


def test_each_loss_of_a_task_is_divided_by_its_own_weight():
    loss = TaskLoss({"a": 2.0, "b": 1.0})
    for a, b, rest, rows in ((3.0, 4.0), (5.0, 1.0), 1.0, 6), ((7.0, 0.0), (6.0, 1.0), 4.0, 2):
        loss.batch = {"a": a, "b": b}
        loss.update_state(tf.constant(2 * a[0] + b[0] + rest), rows)
    assert float(loss.result()) == pytest.approx(2 * 3.0 + (5.0 + 6.0) / 2 + (6 * 1.0 + 2 * 4.0) / 8)


def test_pairs_of_texts_need_no_targets():
    """Numbers would be scores, and rows with these rank nothing."""
    model, batch = calm_case("multiple_negatives_ranking")
    outputs = model(features(model, batch))
    expected = model.compute_loss(batch, None, outputs, training=False)
    assert expected > 0
    assert model.compute_loss(features(model, batch), None, outputs, training=False) == expected


@pytest.mark.long
def test_metrics_of_every_output_are_those_of_the_label_wherever_it_is():
    """Keras would pair the one label with the first output, and drop the metrics of the others."""
    model, batch = calm_case("sequence_classification")
    inputs, weights = features(model, batch), np.float32([1, 1, 1, 0, 0, 0])
    predicted = np.argmax(model(inputs)["logits"], axis=-1)
    labels = np.where([1, 0, 0, 1, 1, 1], predicted, (predicted + 1) % 3).astype(np.int32)
    for y in (labels, [labels], {"label_ids": labels}, {"label_ids": labels, "logits": labels}, None):
        x = inputs if y is not None else inputs | {"label_ids": labels}
        accuracies = {"logits": ["accuracy"], "probabilities": ["accuracy"]}
        model.compile(metrics=accuracies, weighted_metrics={"probabilities": ["sparse_categorical_accuracy"]})
        values = model.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)
        assert values.pop("loss") > 0
        assert values == pytest.approx(
            {
                "logits_accuracy": 4 / 6,
                "probabilities_accuracy": 4 / 6,
                "probabilities_sparse_categorical_accuracy": 1 / 3,
            }
        )


@pytest.mark.parametrize(
    "loss",
    [
        None,
        pytest.param(
            {"logits": keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)}, marks=pytest.mark.long
        ),
    ],
)
def test_metrics_leave_out_labels_that_do_not_count(loss):
    (model, batch), weights = calm_case("token_classification"), np.float32([1, 2, 0, 0, 3, 1])
    labels = batch["label_ids"]
    right, counts = np.argmax(model(features(model, batch))["logits"], axis=-1) == labels, labels >= 0
    kinds = {"metrics": {"logits": ["accuracy"]}, "weighted_metrics": {"probabilities": ["accuracy"]}}
    model.compile(keras.optimizers.SGD(0.0), loss, **kinds)
    named = dict.fromkeys(("logits", "probabilities"), labels) | ({} if loss else {"label_ids": labels})
    of_tokens = np.tile(weights[:, None], (1, LENGTH))  # Keras's loss takes no others beside `ignore_class`
    weighed = counts * of_tokens
    with_one_axis_more = {name: value[..., None] for name, value in named.items()}
    for y in (named, with_one_axis_more, *([] if loss else [labels, labels[..., None]])):
        given = dict.fromkeys(y, of_tokens) if loss else weights
        values = model.evaluate(features(model, batch), y, sample_weight=given, verbose=0, return_dict=True)
        assert values["logits_accuracy"] == pytest.approx(right[counts].mean())
        assert values["probabilities_accuracy"] == pytest.approx((right * weighed).sum() / weighed.sum())


def errors(y_true, y_pred):
    return keras.ops.abs(y_true - y_pred)


class Errors(keras.losses.Loss):
    call = staticmethod(errors)


@pytest.mark.parametrize("loss", ["mae", Errors()])
def test_losses_and_metrics_of_numbers_weigh_rows_whatever_the_shape_of_the_labels(loss):
    """Keras takes the mean over the last axis, which would be that of the batch."""
    (model, batch), weights = calm_case("sequence_regression"), np.float32([1, 1, 1, 0, 0, 0])
    inputs, targets = features(model, batch), batch["targets"]
    metrics = {"metrics": {"prediction": ["mae", errors]}, "weighted_metrics": {"prediction": ["mae"]}}
    model.compile(keras.optimizers.SGD(0.0), {"prediction": loss}, **metrics)
    found = np.abs(model(inputs)["prediction"] - targets)
    expected = {
        "loss": (found * weights).sum() / ROWS,
        "mae": found.mean(),
        "errors": found.mean(),
        "weighted_mae": (found * weights).sum() / weights.sum(),
    }
    for y in (targets, targets[:, None], {"prediction": targets}, {"prediction": targets[:, None]}):
        arguments = {"sample_weight": weights, "batch_size": 4, "verbose": 0, "return_dict": True}
        assert model.evaluate(inputs, y, **arguments) == pytest.approx(expected, rel=1e-5)


def test_windows_are_numbered_and_still_have_one_label_without_a_name():
    task = SequenceClassification(("a", "b", "c"), long_texts="windows")
    model, batch = task.build_model(calm_model("sequence_classification").encoder), calm_case(task.name)[1]
    model.compile(keras.optimizers.SGD(0.0), metrics={"probabilities": ["accuracy"]})
    named, plain = (
        model.fit(features(model, batch), y, batch_size=ROWS, verbose=0, **weights).history
        for y, weights in (
            ({"label_ids": batch["label_ids"]}, {}),
            (batch["label_ids"], {"class_weight": {0: 2.0, 1: 2.0}}),
        )
    )
    assert plain["loss"] == pytest.approx(named["loss"])
    assert plain["probabilities_accuracy"] == named["probabilities_accuracy"]


def one_number(y_true, y_pred):
    """As a user writes it, who leaves the labels out on his own."""
    counts = keras.ops.cast(y_true >= 0, "float32")
    right = keras.ops.equal(keras.ops.argmax(y_pred, axis=-1), keras.ops.cast(y_true, "int64"))
    return keras.ops.sum(keras.ops.cast(right, "float32") * counts) / keras.ops.sum(counts)


def one_of_a_row(y_true, y_pred):
    return keras.ops.mean(y_pred, axis=(1, 2))


@pytest.mark.long
@pytest.mark.parametrize(
    "metric", [one_number, one_of_a_row, keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)]
)
def test_a_metric_of_one_s_own_sees_all_labels(metric):
    model, batch = calm_case("token_classification")
    model.compile(keras.optimizers.SGD(0.0), metrics={"probabilities": [metric]})
    y = {"probabilities": batch["label_ids"], "logits": batch["label_ids"], "label_ids": batch["label_ids"]}
    values = model.evaluate(features(model, batch), y, verbose=0, return_dict=True)
    expected = metric(batch["label_ids"], model(features(model, batch))["probabilities"])
    (name,) = values.keys() - {"loss"}
    assert values[name] == pytest.approx(float(keras.ops.mean(expected)), abs=1e-6)


@pytest.mark.long
def test_a_metric_of_one_s_own_changes_none_of_another_output(caplog):
    model, batch = calm_case("token_classification")
    labels = batch["label_ids"]
    answers = model(features(model, batch))
    y = {"probabilities": labels, "logits": labels, "label_ids": labels}

    def values(metrics):
        model.compile(keras.optimizers.SGD(0.0), metrics=metrics, jit_compile=False)
        return model.evaluate(features(model, batch), y, verbose=0, return_dict=True)

    right, counts = np.argmax(answers["logits"], axis=-1) == labels, labels >= 0
    found = values({"logits": ["accuracy", "sparse_categorical_crossentropy"], "probabilities": [one_number]})
    assert found["logits_accuracy"] == pytest.approx(right[counts].mean())
    assert np.isfinite(found["logits_sparse_categorical_crossentropy"]) and not caplog.messages
    found = values({"logits": ["accuracy", one_number]})
    assert found["logits_accuracy"] == pytest.approx(right.mean())
    assert "metrics of logits: labels that do not count" in caplog.text


def test_metrics_of_masked_words_leave_out_predictions_that_only_fill_a_row():
    model, batch = calm_case("pretraining")
    batch["masked_lm_weights"][:, 1:] = 0
    best = np.argmax(model(features(model, batch))["masked_lm_logits"], axis=-1)
    batch["masked_lm_ids"][:, 0] = np.where([1, 1, 0, 0, 0, 0], best[:, 0], (best[:, 0] + 1) % 5)
    y = {"masked_lm_logits": batch["masked_lm_ids"], "next_sentence_logits": batch["next_sentence_labels"]}
    model.compile(metrics={"masked_lm_logits": ["accuracy"]}, jit_compile=False)
    values = model.test_on_batch(batch | y, return_dict=True)
    assert values["masked_lm_logits_accuracy"] == pytest.approx(2 / 6)


def test_metrics_of_a_task_with_several_labels_need_them_by_output():
    model, batch = calm_case("question_answering")
    model.compile(metrics={"end_logits": ["accuracy"]}, jit_compile=False, run_eagerly=True)
    with pytest.raises(ValueError, match="none for start_logits, end_logits; give it by name"):
        model.test_on_batch(batch)
    starts, ends = batch["start_positions"], batch["end_positions"]
    labels = {"start_positions": starts, "end_positions": ends, "start_logits": starts, "end_logits": ends}
    values = model.test_on_batch(features(model, batch), labels, return_dict=True)
    expected = np.mean(np.argmax(model(features(model, batch))["end_logits"], axis=-1) == ends)
    assert values["end_logits_accuracy"] == pytest.approx(expected)


def test_nothing_stays_of_what_a_model_was_compiled_with_before():
    model, batch = calm_case("sequence_classification")
    model.compile()
    expected = model.test_on_batch(batch)
    own = {"probabilities": "mse"}
    model.compile(loss=own, loss_weights={"probabilities": 3.0}, metrics={"probabilities": ["accuracy"]})
    model.compile()
    assert model.test_on_batch(batch) == expected
    with pytest.raises(ValueError, match="loss_weights=.* give loss too, or leave them out"):
        model.compile(loss_weights={"logits": 3.0})


def test_regularizers_count_beside_the_loss_of_the_task():
    model = make_task("sequence_classification").build_model(BertEncoder(calm_config()))
    batch = make_batch("sequence_classification", model.encoder.config)
    model.compile()
    loss = model.test_on_batch(batch)
    model.trainable_weights[0].regularizer = keras.regularizers.L2(2.0)
    model.compile()
    more = 2.0 * np.sum(np.square(model.trainable_weights[0].numpy()))
    assert model.test_on_batch(batch) == pytest.approx(loss + more, rel=1e-5)


@pytest.mark.parametrize("name", ["multi_label_classification", "sequence_regression"])
def test_class_weight_is_for_one_class_of_an_example(name):
    """Keras would take the largest of several labels, or a rounded number, for the class."""
    model, batch = calm_case(name)
    labels = batch["label_ids" if "label_ids" in model.task.features(-1) else "targets"]
    model.compile()
    for method in (model.fit, model.train_on_batch):
        with pytest.raises(ValueError, match=f"of one class each, and those of the {name} task are not"):
            method(features(model, batch), labels, class_weight={0: 1.0, 1: 9.0})


class Batches(keras.utils.PyDataset):
    """One batch, as it is."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.batch


def test_class_weight_counts_or_is_refused_whatever_gives_the_batches():
    """Keras drops it where labels have names, or ends in an error of its own."""
    model, batch = calm_case("sequence_classification")
    labels = batch["label_ids"]
    parts = features(model, batch), labels
    model.compile(keras.optimizers.SGD(0.0))
    weights = {0: 1.0, 1: 9.0, 2: 0.5}
    expected = model.fit(*parts, class_weight=weights, verbose=0).history["loss"]
    assert expected != model.fit(*parts, verbose=0).history["loss"]
    for data in (Batches(parts), tf.data.Dataset.from_tensors(parts)):
        assert model.fit(data, class_weight=weights, shuffle=False, verbose=0).history[
            "loss"
        ] == pytest.approx(expected)
    for named in (batch, (batch,), (parts[0], {"label_ids": labels})):
        for data in (Batches(named), tf.data.Dataset.from_tensors(named)):
            with pytest.raises(ValueError, match="class_weight is for labels without a name"):
                model.fit(data, class_weight=weights, shuffle=False, verbose=0)


def test_a_file_of_a_task_that_is_not_here_says_so(tmp_path):
    config = calm_model("sequence_classification").get_config()
    config["task"]["name"] = "sequence_clasification"
    with pytest.raises(ValueError, match="is not known. Did you mean 'sequence_classification'"):
        TaskModel.from_config(config)


def test_one_more_axis_of_labels_and_weights_changes_no_loss(case):
    """A column of a table comes as (batch, 1)."""
    _, model, batch = case
    outputs, weights = model(features(model, batch)), np.linspace(0.0, 2.0, ROWS, dtype=np.float32)
    expected = model.compute_loss(batch, None, outputs, weights, training=False)
    columns = {
        name: v[:, None] if v.ndim == 1 and name not in model.input else v for name, v in batch.items()
    }
    loss = model.compute_loss(columns, None, outputs, weights[:, None], training=False)
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    with pytest.raises(ValueError, match=r"sample_weight has the shape \(6, 8\); expected \[batch\]"):
        model.compute_loss(batch, None, outputs, np.ones((ROWS, LENGTH), np.float32), training=False)
    with pytest.raises(ValueError, match="a dict of 2, .*one array of shape"):
        model.compute_loss(batch, None, outputs, {"a": weights, "b": weights}, training=False)


def test_one_label_may_lack_its_axis_and_several_may_not():
    model = TASKS["multi_label_classification"].from_labels(("a",)).build_model(BertEncoder(calm_config()))
    batch = random_inputs(model.encoder.config, ROWS, LENGTH)
    held, outputs = np.array([[0], [1], [1], [0], [1], [1]], np.int32), model(batch)
    losses = [float(model.compute_loss(batch, y, outputs, training=False)) for y in (held, held[:, 0])]
    assert losses[0] == losses[1]
    several = make_task("multi_label_classification").build_model(model.encoder)
    with pytest.raises(ValueError, match=r"label_ids has the shape \(6, 1\); expected \[batch, 3\]"):
        several.compute_loss(batch, held, several(batch), training=False)


@pytest.mark.long
def test_weights_count_wherever_the_labels_are():
    (model, batch), weights = calm_case("question_answering"), np.float32([1, 2, 0, 0, 3, 0])
    labels = {name: value for name, value in batch.items() if name not in model.input}
    model.compile(keras.optimizers.SGD(0.0), jit_compile=False)
    arguments = {"batch_size": ROWS, "verbose": 0}
    expected = model.test_on_batch(batch, sample_weight=weights)
    for x, y in ((batch, None), (features(model, batch), labels)):
        assert model.evaluate(x, y, sample_weight=weights, **arguments) == pytest.approx(expected, rel=1e-5)
        history = model.fit(
            x, y, sample_weight=weights, validation_data=(x, y, weights), shuffle=False, **arguments
        ).history
        assert [history[name][0] for name in ("loss", "val_loss")] == pytest.approx([expected] * 2, rel=1e-5)
    assert model.evaluate(batch, sample_weight=0 * weights, **arguments) == 0.0
    with pytest.raises(ValueError, match="class_weight is for labels without a name: give them as y"):
        model.fit(batch, class_weight={0: 2.0})
    with pytest.raises(ValueError, match="one array of shape"):
        model.evaluate(batch, sample_weight=dict.fromkeys(labels, weights), **arguments)


def test_labels_that_are_texts_are_told_to_be_numbers():
    model, batch = calm_case("sequence_classification")
    outputs = model(features(model, batch))
    with pytest.raises(ValueError, match="label_ids has texts; expected numbers: of labels their places"):
        model.compute_loss(features(model, batch), np.array(["a", "b"] * 3), outputs)


@pytest.mark.parametrize(
    ("name", "wrongs"),
    [("sequence_classification", (-1, 3, 0.5, np.nan)), ("multi_label_classification", (2, np.nan))],
)
def test_a_label_that_is_no_class_makes_the_loss_nan(name, wrongs):
    model, batch = calm_case(name)
    outputs = model(features(model, batch))
    expected = model.compute_loss(batch, None, outputs, training=False)
    labels = batch["label_ids"].astype(np.float32)
    assert float(model.compute_loss(batch | {"label_ids": labels}, None, outputs, training=False)) == expected
    for wrong in wrongs:
        labels[2] = wrong
        assert np.isnan(model.compute_loss(batch | {"label_ids": labels}, None, outputs, training=False))
