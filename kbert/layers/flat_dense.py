import keras
from keras import ops

from kbert.kernels.bias_activation import bias_activation


def _gelu_tanh(x):
    return keras.ops.gelu(x, approximate=True)  # modeling.py, `gelu`: tanh with the constant .044715


def _gelu_erf(x):
    return keras.ops.gelu(x, approximate=False)


_ACTIVATIONS = {
    "gelu": _gelu_tanh,
    "gelu_erf": _gelu_erf,
    "relu": keras.ops.relu,
    "tanh": keras.ops.tanh,
    "linear": keras.activations.linear,
}


def activation(name: str):
    """The function for a `hidden_act` of kbert.config.ACTIVATIONS."""
    return _ACTIVATIONS[name]


def flat_matmul(inputs, matrix):
    """`inputs @ matrix` for inputs of shape `(..., m)` and a matrix `(m, n)`, as one flat product.

    For a batched product TensorFlow would compute one gradient of the matrix for every row of the batch, and
    then add them up. For an output matrix of 30,522 tokens that is a gigabyte per step, and half of its time.
    """
    if len(inputs.shape) == 2:
        return ops.matmul(inputs, matrix)
    *leading, width = ops.shape(inputs)
    product = ops.matmul(ops.reshape(inputs, (-1, width)), matrix)
    return ops.reshape(product, (*leading, ops.shape(matrix)[1]))


@keras.saving.register_keras_serializable(package="kbert")
class FlatDense(keras.layers.Layer):
    """A dense layer over the last axis that runs as one flat product, whatever the rank of its input.

    In training bias and activation are one kernel.

    Args:
      units: width of the output.
      hidden_act: name of an activation, see kbert.config.ACTIVATIONS, or None.
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      inputs: tensor of shape `(..., m)`.

    Returns:
      Tensor of shape `(..., units)`.
    """

    def __init__(self, units, hidden_act=None, initializer_range=0.02, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range

    def build(self, input_shape):
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], self.units),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
        )
        # Not cast automatically: in training the bias is added in float32.
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros", autocast=False)
        self.built = True

    def product(self, inputs, seed=None):
        """`inputs @ kernel` without bias and activation, `(..., units)`; `seed` as for `adaptation`."""
        outputs = flat_matmul(inputs, ops.cast(self.kernel, self.compute_dtype))
        adaptation = self.adaptation(inputs, seed)
        return outputs if adaptation is None else outputs + adaptation

    def adaptation(self, inputs, seed=None):
        """What a layer with an adapter adds to the product, see `LowRankDense`; here None."""
        return None

    def call(self, inputs, training=False, seed=None):
        outputs = self.product(inputs, seed)
        if training and self.hidden_act:
            shape = ops.shape(outputs)
            flat = ops.reshape(outputs, (-1, self.units))
            return ops.reshape(bias_activation(flat, self.bias, self.hidden_act), shape)
        outputs = outputs + ops.cast(self.bias, outputs.dtype)
        return activation(self.hidden_act)(outputs) if self.hidden_act else outputs

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        names = ("units", "hidden_act", "initializer_range")
        return super().get_config() | {name: getattr(self, name) for name in names}
