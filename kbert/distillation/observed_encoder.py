"""Looks at the hidden states inside a task's model while the task builds it."""


class ObservedEncoder:
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
