"""The student that is trained, the frozen teacher, and what is between them."""

import keras
from keras import ops

from kbert.encoder import BertEncoder
from kbert.layers.flat_dense import FlatDense

# Only training needs it: it is kept beside the optimizer, and neither evaluated nor exported.
PROJECTION = "distillation_projection"
TEACHER_OUTPUTS = "teacher"


class DistillationModel(keras.Model):
    """A student that trains beside its teacher. Evaluated, it is the student alone.

    Args:
      build: function from an encoder to a task's model; student and teacher have the same.
      encoder: the student's `BertEncoder`; the teacher's gets its policy and packing.
      teacher_config: the teacher's `EncoderConfig`.
      layers: for each layer of the student, the teacher's layer that it imitates.
      states: whether to give the hidden states.

    Attributes:
      student, teacher: the task's models. The teacher's variables are not trainable.

    Call arguments:
      inputs: dict of the features that the task's model takes.

    Returns:
      the student's outputs. In training also `teacher`, the teacher's outputs; with `states` the tuples
      `student_states` and `teacher_states`: the output of the embeddings, then of each of the student's
      layers and of the layers it imitates, in the teacher's width.
    """

    def __init__(self, build, encoder, teacher_config, layers, states=False):
        super().__init__(name="distillation")
        # The student first: its weights and its dropout are those of a training without a teacher.
        self.student, self._observed_student = _observed(build, encoder, states)
        teacher_encoder = BertEncoder(teacher_config, dtype=encoder.policy, packed=encoder.packed)
        self.teacher, self._observed_teacher = _observed(build, teacher_encoder, states)
        self.teacher.trainable = False
        self._observed_teacher.trainable = False
        self._layers_of_teacher = tuple(layers)
        self._states = states
        self.projection = None
        width, teacher_width = encoder.config.hidden_size, teacher_config.hidden_size
        if states and width != teacher_width:
            self.projection = FlatDense(teacher_width, dtype=encoder.policy, name=PROJECTION)
            self.projection.build((None, None, width))

    @property
    def input(self):
        """The features that the student takes; the teacher takes the same."""
        return self.student.input

    def call(self, inputs, training=False):
        if not training:
            return self.student(inputs, training=False)
        inputs = {name: inputs[name] for name in self.student.input}
        outputs = dict(self._observed_student(inputs, training=True))
        teacher_outputs = dict(self._observed_teacher(inputs, training=False))
        if self._states:
            states, teacher_states = outputs.pop("hidden_states"), teacher_outputs.pop("hidden_states")
            outputs["student_states"] = tuple(
                states if self.projection is None else map(self.projection, states)
            )
            compared = (teacher_states[layer + 1] for layer in self._layers_of_teacher)
            outputs["teacher_states"] = (teacher_states[0], *compared)
        return outputs | {TEACHER_OUTPUTS: keras.tree.map_structure(ops.stop_gradient, teacher_outputs)}


class _ObservedEncoder:
    """Stands in for a `BertEncoder` while a task builds its model, and keeps the hidden states of its call.

    A task calls its encoder once and takes what it needs. This one gives the same outputs and the hidden
    states with them, whatever the task does before the call (multiple choice folds its choices into the
    batch). Layers and weights are those of the encoder.

    Args:
      encoder: the `BertEncoder`.

    Attributes:
      hidden_states: after the task has built its model: `num_hidden_layers + 1` symbolic tensors, see
        `BertEncoder`.
    """

    def __init__(self, encoder):
        self._encoder = encoder
        self._outputs = tuple(encoder.output)
        self.hidden_states = None

    def __getattr__(self, name):
        return getattr(self._encoder, name)

    def with_outputs(self, *outputs):
        self._outputs = outputs
        return self

    def __call__(self, inputs):
        outputs = self._encoder.with_outputs(*dict.fromkeys((*self._outputs, "hidden_states")))(inputs)
        self.hidden_states = outputs["hidden_states"]
        return outputs


def _observed(build, encoder, with_states):
    """(the task's model, the same with the hidden states of its encoder among the outputs)."""
    if not with_states:
        model = build(encoder)
        return model, model
    observed = _ObservedEncoder(encoder)
    model = build(observed)
    outputs = dict(model.output) | {"hidden_states": observed.hidden_states}
    return model, keras.Model(model.input, outputs, name=f"observed_{model.name}")
