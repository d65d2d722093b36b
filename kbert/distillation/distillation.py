"""Any task with a teacher: the task's own model and metrics, and more losses."""

from keras import ops

from kbert.distillation import losses
from kbert.distillation.distillation_model import PROJECTION, TEACHER_OUTPUTS, DistillationModel
from kbert.distillation.teacher import layer_map
from kbert.tasks.losses import token_weights

SOFT = "soft_"  # before the name of a loss: the same loss with the teacher's predictions for labels


class Distillation:
    """A `Task` in training with a teacher. Everything that is not about losses is the task's own.

    The losses, each with its weight in the config: the task's own; `soft_` before each of their names, over
    the same positions; `hidden_loss` and `cosine_loss` over real tokens, the first added up over the layers
    that are compared. A loss of weight 0 is not computed, except the task's own. Metrics show every loss
    without its weight. Evaluations know no teacher.

    Args:
      task: the student's `Task`.
      config: a `DistillationConfig`.
      teacher: the `Teacher`.

    Raises:
      ValueError: when the config wants soft labels of a task that has none.
    """

    def __init__(self, task, config, teacher):
        self._task, self._config, self._teacher = task, config, teacher

    def __getattr__(self, name):
        return getattr(self._task, name)

    def build_model(self, encoder) -> DistillationModel:
        """The `DistillationModel` around a student with this encoder, with the teacher's weights loaded."""
        config, theirs = self._config, self._teacher.encoder
        model = DistillationModel(
            self._task.build_model,
            encoder,
            theirs,
            layer_map(encoder.config.num_hidden_layers, theirs.num_hidden_layers),
            states=bool(config.hidden_weight or config.cosine_weight),
        )
        if config.soft_label_weight:
            _require_same_shapes(model.student, model.teacher)
        self._teacher.load_into(model.teacher, getattr(self._task, "labels", ()))
        return model

    def is_training_only(self, name):
        return name.startswith(f"{PROJECTION}/")

    def loss_factor(self, name, progress=1.0):
        config = self._config
        factors = {"hidden_loss": config.hidden_weight, "cosine_loss": config.cosine_weight}
        if name in factors:
            return factors[name]
        if name.startswith(SOFT):
            return config.soft_label_weight
        return config.label_weight * self._task.loss_factor(name, progress)

    def loss_weights(self, batch, training=False):
        """Those of the task, of its soft labels, and the numbers of tokens."""
        config, weights = self._config, self._task.loss_weights(batch, training=training)
        if not training:
            return weights
        if config.soft_label_weight:
            soft = {SOFT + name: weight for name, weight in self._task.loss_weights(batch).items()}
            weights = weights | soft
        tokens = token_weights(batch)
        if config.hidden_weight:
            weights["hidden_loss"] = ops.sum(tokens)
        if config.cosine_weight:
            weights["cosine_loss"] = ops.sum(tokens)
        return weights

    def loss_sums(self, outputs, batch, training=False):
        """The task's own, and the teacher's."""
        sums = self._task.loss_sums(outputs, batch, training=training)
        if not training:
            return sums
        return sums | self._soft_label_sums(outputs, batch) | self._inner_sums(outputs, token_weights(batch))

    def _soft_label_sums(self, outputs, batch):
        config = self._config
        if not config.soft_label_weight:
            return {}
        student = self._task.soft_targets(outputs, batch)
        teacher = self._task.soft_targets(outputs[TEACHER_OUTPUTS], batch)
        return {
            SOFT + name: sum(
                losses.soft_label_error(target, teacher_target, config.temperature)
                for target, teacher_target in zip(targets, teacher[name], strict=True)
            )
            for name, targets in student.items()
        }

    def _inner_sums(self, outputs, tokens):
        config, sums = self._config, {}
        if config.hidden_weight:
            states = zip(outputs["student_states"], outputs["teacher_states"], strict=True)
            sums["hidden_loss"] = sum(losses.hidden_error(*pair, tokens) for pair in states)
        if config.cosine_weight:
            last = outputs["student_states"][-1], outputs["teacher_states"][-1]
            sums["cosine_loss"] = losses.cosine_error(*last, tokens)
        return sums


def _require_same_shapes(student, teacher):
    for name, tensor in student.output.items():
        if tensor.shape != teacher.output[name].shape:
            raise ValueError(
                f"{name} of the student has shape {tensor.shape}, that of the teacher "
                f"{teacher.output[name].shape}; they must have the same labels and the same vocab_size."
            )
