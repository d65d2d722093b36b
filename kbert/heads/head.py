import keras

from kbert.layers.encoder_layer import EncoderLayer


class Head(EncoderLayer):
    """A layer on top of the encoder, whose outputs are float32 in every precision."""

    def compute_output_spec(self, *inputs, training=False, **named):
        shape = self.compute_output_shape(*(tensor.shape for tensor in (*inputs, *named.values())))
        return keras.KerasTensor(shape, dtype="float32")
