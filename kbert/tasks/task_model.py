"""What every task's `build_model` returns: a functional Keras model that knows its task."""

import inspect

import keras
import numpy as np
import tensorflow as tf

from kbert.cli.warn_once import warn_once
from kbert.encoder import freeze, frozen_weights
from kbert.features import EXAMPLE_WEIGHTS, WINDOW_FEATURE, WORD_FEATURE, Feature
from kbert.tasks import TASKS
from kbert.tasks.task import Task
from kbert.tasks.task_loss import TaskLoss


def token_inputs(names, *axes) -> dict:
    """Symbolic inputs of a model, int32 of shape (batch, *axes, length), by their names."""
    return {name: keras.Input((*axes, None), dtype="int32", name=name) for name in names}


@keras.saving.register_keras_serializable(package="kbert")
class TaskModel(keras.Model):
    """A functional model from a dict of features to a dict of outputs, made of an encoder and heads.

    `save`, `load_model`, `summary`, composition with other layers, `compile` and `fit` are Keras's own.
    If it is compiled without a loss, it trains on the loss of its task: `fit` then takes dicts that hold the
    features and the labels under the task's names, or the features as `x` and the labels as `y`, which needs
    no name where the task has one label feature; metrics of every output compare it with this label, and
    leave out what the task does not count (labels below 0 in token classification) if all metrics of the
    output are means that Keras has; beside a metric of your own all see these labels.
    Labels have the shapes of `Task.features`, and sample weights are one number for each example; (batch, 1)
    is taken as (batch,). Compiled losses and metrics read an output of shape (batch,) and its labels as
    (batch, 1), the shape of Keras's Dense(1): they take the mean over the last axis, and weigh what is left.
    The loss is NaN where a label is none of the task's classes. What `fit` and `evaluate` report is divided
    by the weights of all batches, so it does not depend on their size. On several replicas `fit` minimises
    the mean of their losses, as of Keras's own. Use kbert.training instead of `fit` for the mean over their
    examples, for negatives of all replicas, for clipping after the all-reduce, and for resuming; and for
    weights of losses that rise in a training (SPLADE): in `fit` they are at their end from the start.

    Args:
      task: the `Task` that built it.
      encoder: the `BertEncoder` in it.
      inputs: dict of symbolic inputs.
      outputs: dict of symbolic outputs.
      read: symbolic tensor of shape (batch, seq_length, width): all that heads on tokens read of the encoder;
        None for others.

    Attributes:
      task, encoder, read: as given.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, SequenceClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = SequenceClassification(["no", "yes"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((4, 7), "int32")
      >>> batch = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids, "label_ids": ids[:, 0]}
      >>> model.compile(keras.optimizers.AdamW(1e-3))
      >>> history = model.fit(batch, epochs=3, verbose=0)
      >>> history.history["loss"][-1] < history.history["loss"][0]
      True
    """

    def __init__(self, task: Task, encoder, inputs: dict, outputs: dict, read=None):
        super().__init__(inputs=inputs, outputs=outputs, name=task.name)
        self.dtype_policy = encoder.policy  # in float16 `compile` scales the loss by it
        self.task = task
        self.encoder = encoder
        self.read = read

    def call(self, inputs, training=None, mask=None):
        if isinstance(inputs, list | tuple):
            raise ValueError(f"expected a dict of {', '.join(self.input)}; received a list of {len(inputs)}.")
        # A batch may also contain labels, which are not inputs.
        return super().call({name: inputs[name] for name in self.input}, training=training, mask=mask)

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, *args, **kwargs):
        """As `keras.Model.compile`. Nothing stays of a loss and of metrics that it was compiled with before.

        Raises:
          ValueError: when a loss does not name its output, or `loss_weights` have no loss.
        """
        if loss is not None and not (isinstance(loss, dict) and {*loss} <= {*self.output}):
            raise ValueError(
                f"which output is {loss} the loss of? Name it, as loss={{{next(iter(self.output))!r}: ...}}; "
                f"the {self.task.name} model gives {', '.join(self.output)}."
            )
        if loss is None and loss_weights is not None:
            raise ValueError(
                f"loss_weights={loss_weights} are those of losses that are compiled; give loss too, or leave "
                "them out: the task weighs its own."
            )
        self._compile_loss = self._compile_metrics = None
        super().compile(optimizer, loss, loss_weights, *args, **kwargs)
        if loss is None:  # as Keras sets its own, beside the attributes that a model tracks and saves
            self.__dict__["_loss_tracker"] = TaskLoss(
                {name: self.task.loss_factor(name) for name in self._loss_names()}
            )

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The compiled loss; if there is none, the sum over the task's losses of sum / weight. To both Keras
        adds regularizers and `add_loss`.

        Raises:
          ValueError: when the labels are not in the batch, or those of a compiled loss not in `y`.
        """
        if self._compile_loss is not None:
            if y is None:
                raise ValueError(
                    "the model is compiled with a loss of your own, which reads its labels from y: give them "
                    f"there, or compile it without a loss for that of the {self.task.name} task."
                )
            labels, y_pred = self._by_output(self._labels(y), y_pred)
            return super().compute_loss(x, labels or y, y_pred, sample_weight, training)
        batch = x | self._labels(y)
        if sample_weight is not None:
            batch[EXAMPLE_WEIGHTS] = _one_array(sample_weight)
        batch = self._in_declared_shapes(batch)
        try:
            weights = self.task.loss_weights(batch, training=training)
            sums = self.task.loss_sums(y_pred, batch, training=training)
        except KeyError as missing:
            raise ValueError(
                f"the {self.task.name} loss needs {missing} in each batch, but a batch has "
                f"{', '.join(batch)}; add it, give it by name (y={{{missing}: ...}}), or compile the model "
                "with your own loss."
            ) from None
        # Where all weights are 0, the loss is 0.
        means = {name: keras.ops.divide_no_nan(sums[name], weights[name]) for name in sums}
        if isinstance(self._loss_tracker, TaskLoss):
            self._loss_tracker.batch = {name: (mean, weights[name]) for name, mean in means.items()}
        loss = sum(means[name] * self.task.loss_factor(name) for name in sums)
        loss /= tf.distribute.get_strategy().num_replicas_in_sync  # whose gradients Keras adds up
        return loss + super().compute_loss() if self.losses else loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Keras's, given a label under the name of each output: by their order it would give the one label to
        the first output, and leave out the metrics of the others.

        Raises:
          ValueError: when there is no label for an output.
        """
        if self._compile_metrics is not None:
            batch = x | self._labels(y)
            y, y_pred = self._by_output(batch, y_pred)
            missing = [output for output in y_pred if output not in y]
            if missing:
                raise ValueError(
                    f"metrics need a label for each output, but a batch has none for {', '.join(missing)}; "
                    f"give it by name beside the others (y={{{missing[0]!r}: ...}})."
                )
            sample_weight = x.get(EXAMPLE_WEIGHTS, sample_weight)
            masks = {
                name: mask
                for name, mask in self.task.label_masks(y, batch).items()
                if _takes_mask(self._compile_metrics, name)
            }
            y, y_pred, sample_weight = _masked(masks, y, y_pred, sample_weight)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def fit(self, *args, **kwargs):
        """As `keras.Model.fit`. `sample_weight` also counts where the labels are in `x`."""
        return super().fit(**self._with_weights(super().fit, args, kwargs))

    def evaluate(self, *args, **kwargs):
        """As `keras.Model.evaluate`. `sample_weight` also counts where the labels are in `x`."""
        return super().evaluate(**self._with_weights(super().evaluate, args, kwargs))

    def train_on_batch(self, *args, **kwargs):
        """As `keras.Model.train_on_batch`."""
        return super().train_on_batch(**self._with_weights(super().train_on_batch, args, kwargs))

    def _with_weights(self, method, args, kwargs) -> dict:
        """The arguments of a method, with weights of examples in `x` where labels have names: Keras drops
        those of no `y`, and repeats those of several labels."""
        bound = inspect.signature(method).bind(*args, **kwargs).arguments
        bound |= bound.pop("kwargs", {})
        if bound.get("class_weight") and self._compile_loss is None:
            self._check_class_weight(bound["class_weight"], bound.get("x"), bound.get("y"))
        data = [bound.get(name) for name in ("x", "y", "sample_weight")]
        bound |= zip(("x", "y", "sample_weight"), self._weights_in_batch(*data), strict=True)
        validation = bound.get("validation_data")
        if isinstance(validation, list | tuple) and len(validation) == 3:
            bound["validation_data"] = self._weights_in_batch(*validation)
        return bound

    def _check_class_weight(self, class_weight, x, y):
        """Raises ValueError for weights that Keras would drop, or give to the largest of several labels."""
        if not _have_no_names(x, y):
            raise ValueError(
                "class_weight is for labels without a name: give them as y, or the task its class_weights."
            )
        if [*self._label_features.values()] not in ([Feature("int32", ())], [Feature("int32", (1,))]):
            raise ValueError(
                f"class_weight is for examples of one class each, and those of the {self.task.name} task are "
                "not: give sample_weight, or the task its class_weights where it has them."
            )
        if any(isinstance(key, str) for key in class_weight):
            raise ValueError(
                f"class_weight={class_weight} must have the numbers of classes as keys; labels by name are "
                "those of the task's class_weights."
            )

    def _weights_in_batch(self, x, y, sample_weight):
        have_names = isinstance(x, dict) and (y is None or isinstance(y, dict))
        if sample_weight is None or self._compile_loss is not None or not have_names:
            return x, y, sample_weight
        return x | {EXAMPLE_WEIGHTS: _one_array(sample_weight)}, y, None

    @property
    def _label_features(self) -> dict[str, Feature]:
        """The features that are no inputs and do not number words or windows; -1 in a shape is any length."""
        others = {*self.input, WORD_FEATURE, WINDOW_FEATURE}
        return {name: kind for name, kind in self.task.features(-1).items() if name not in others}

    def _loss_names(self) -> list[str]:
        """The names of the task's losses, of a batch of one row."""
        row = {
            name: np.zeros((1, *(max(number, 1) for number in feature.shape)), feature.dtype)
            for name, feature in self.task.features(1).items()
        }
        return [*self.task.loss_weights(row, training=True)]

    def _labels(self, y) -> dict:
        """The labels by the task's names: `y` needs none where the task has one label feature. A list of
        several has those of the outputs, in Keras's order."""
        if isinstance(y, list | tuple):
            y = y[0] if len(y) == 1 else dict(zip(sorted(self.output), y, strict=False))
        if y is None or isinstance(y, dict):
            return y or {}
        names = list(self._label_features)
        return {names[0]: y} if len(names) == 1 else {}

    def _by_output(self, batch: dict, y_pred: dict) -> tuple[dict, dict]:
        """The labels that a batch has for each output, and the outputs, in the shapes that functions of Keras
        and of one's own are written for: labels without a last axis of 1 that is not declared, since Keras
        makes it of a table's column; then what is (batch,) with one, on both sides, since Keras takes the
        mean over the last axis, which must not be the batch."""
        labels = {name: batch[name] for name in y_pred if name in batch}
        if len(self._label_features) == 1:
            ((name, feature),) = self._label_features.items()
            labels = (dict.fromkeys(y_pred, batch[name]) if name in batch else {}) | labels
            labels = {output: _without_column(label, feature.shape) for output, label in labels.items()}
        columns = {name: output[:, None] for name, output in y_pred.items() if len(output.shape) == 1}
        for name in columns.keys() & labels.keys():
            labels[name] = keras.ops.reshape(labels[name], keras.ops.shape(columns[name]))
        return labels, y_pred | columns

    def _in_declared_shapes(self, batch: dict) -> dict:
        """The batch with labels and weights in the shapes of their features: Keras makes (batch, 1) of a
        table's column, and beside (batch,) that would stand for every pair of examples.

        Raises:
          ValueError: for any other shape.
        """
        number = keras.ops.shape(batch[next(iter(self.input))])[0]
        declared = self._label_features | {EXAMPLE_WEIGHTS: Feature("float32", ())}
        shaped = {}
        for name, feature in declared.items():
            if name in batch:
                value = _shaped(name, batch[name], feature.shape)
                shaped[name] = keras.ops.reshape(value, (number, *feature.shape))
                if feature.dtype == "float32":
                    shaped[name] = keras.ops.cast(shaped[name], "float32")
        return batch | shaped

    def get_config(self):
        return {
            "task": {"name": self.task.name, "config": self.task.get_config()},
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "frozen": frozen_weights(self),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        task = TASKS.recorded({"task": config["task"]["name"], "task_config": config["task"]["config"]})
        model = task.build_model(keras.saving.deserialize_keras_object(config["encoder"]))
        model.name = config.get("name", model.name)
        return freeze(model, config.get("frozen", ()))


_BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")  # Keras chooses by the label's shape


def _takes_mask(compiled, output) -> bool:
    """Whether the metrics of an output are Keras's own means. Beside a mask, other functions, losses and
    metrics may give no number or a wrong one.
    """
    kinds = (compiled._user_metrics, compiled._user_weighted_metrics)
    metrics = keras.tree.flatten([kind.get(output) if isinstance(kind, dict) else kind for kind in kinds])
    are_means = [_is_own_mean(metric) for metric in metrics if metric is not None]
    if any(are_means) and not all(are_means):
        warn_once(
            f"metrics of {output}: labels that do not count, such as -1, count in all of them, because one "
            "is no mean of Keras; compile without it, or leave these labels out in functions of your own."
        )
    return all(are_means)


def _is_own_mean(metric) -> bool:
    if metric in _BY_SHAPE:
        return True
    if isinstance(metric, str):
        names = {name.lower(): kind for name, kind in vars(keras.metrics).items()}
        metric = names.get(metric.replace("_", "").lower())  # no instance, which makes variables
    if metric is None:
        return True  # the name of a function, such as "mse"
    if isinstance(metric, type):
        return issubclass(metric, keras.metrics.MeanMetricWrapper) and metric.__module__.startswith("keras.")
    function = getattr(metric, "_fn", metric)
    return (
        (isinstance(metric, keras.metrics.MeanMetricWrapper) or not isinstance(metric, keras.metrics.Metric))
        and not isinstance(function, keras.losses.Loss)
        and getattr(function, "__module__", "").startswith("keras.")
    )


def _masked(masks, y, y_pred, sample_weight):
    """Labels, predictions with Keras's masks, by which its means leave out what does not count, and weights
    of examples in a form that stands beside such masks."""
    if not masks:
        return y, y_pred, sample_weight
    y_pred = {name: tf.identity(value) for name, value in y_pred.items()}
    for name, mask in masks.items():
        y_pred[name]._keras_mask = mask  # as layers set it; Keras has no public way
        y = y | {name: tf.where(mask, y[name], 0)}  # a loss of -1 is NaN, which no weight takes out
    if sample_weight is not None:
        weights = keras.tree.flatten(sample_weight)
        if len(weights) == 1:
            sample_weight = dict.fromkeys(y_pred, weights[0])
        elif not isinstance(sample_weight, dict):
            sample_weight = dict(zip(y_pred, weights, strict=True))
        sample_weight = {
            name: value[:, None] if name in masks and len(value.shape) == 1 else value
            for name, value in sample_weight.items()
        }
    return y, y_pred, sample_weight


def _have_no_names(x, y) -> bool:
    """Whether labels come beside the features and not by name; of other iterators that is not known yet."""
    if isinstance(x, tf.data.Dataset | keras.utils.PyDataset):
        batch = x.element_spec if isinstance(x, tf.data.Dataset) else x[0]
        return isinstance(batch, tuple | list) and len(batch) > 1 and not isinstance(batch[1], dict)
    return not isinstance(x, dict) or not (y is None or isinstance(y, dict))


def _one_array(sample_weight):
    """The weights of examples, which Keras may have put into a structure.

    Raises:
      ValueError: for a structure of several.
    """
    arrays = keras.tree.flatten(sample_weight)
    if len(arrays) != 1:
        raise ValueError(
            f"sample_weight is a {type(sample_weight).__name__} of {len(arrays)}, but a task's loss weighs "
            "whole examples: give one array of shape (examples,)."
        )
    return arrays[0]


def _without_column(label, shape):
    """A label without its last axis, where that is 1 and more than (batch, *shape) has."""
    label = tf.convert_to_tensor(label)
    is_column = label.shape.rank == len(shape) + 2 and label.shape[-1] == 1
    return tf.squeeze(label, -1) if is_column else label


def _shaped(name, value, shape):
    """The numbers, where they are of shape (batch, *shape), but for a last axis of 1; else raises ValueError.
    What is not known yet is checked in the step."""
    value = tf.convert_to_tensor(value)
    if value.dtype == tf.string:
        raise ValueError(f"{name} has texts; expected numbers: of labels their places in model.task.labels.")
    if value.shape.rank is None:
        return value
    for own in (shape, (*shape, 1), *([shape[:-1]] if shape[-1:] == (1,) else [])):
        own = tf.TensorShape([None, *(None if n == -1 else n for n in own)])
        if own.is_compatible_with(value.shape):
            return tf.ensure_shape(value, own)
    named = "sample_weight" if name == EXAMPLE_WEIGHTS else name
    axes = ["batch", *("length" if n == -1 else str(n) for n in shape)]
    raise ValueError(
        f"{named} has the shape {tuple(value.shape)}; expected [{', '.join(axes)}], a row for each example."
    )
