"""A functional model that is called with a batch."""

import keras


@keras.saving.register_keras_serializable(package="kbert")
class NamedInputs(keras.Model):
    """A functional model that takes its inputs out of a dict by name: a batch may have labels too, and Keras
    takes what a dict holds by its order."""

    def call(self, inputs, training=None, mask=None):
        if isinstance(inputs, dict):
            inputs = {name: inputs[name] for name in self.input if name in inputs}
        return super().call(inputs, training=training, mask=mask)
