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
      use_bias: whether there is a bias.
      is_gated_act: whether the activation's outputs are multiplied by as many more products: a gated linear
        unit (arXiv 2002.05202). Their columns stand behind the activation's.

    Call arguments:
      inputs: tensor of shape `(..., m)`.

    Returns:
      Tensor of shape `(..., units)`.
    """

    def __init__(
        self,
        units,
        hidden_act=None,
        initializer_range=0.02,
        use_bias=True,
        is_gated_act=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.use_bias = use_bias
        self.is_gated_act = is_gated_act

    def build(self, input_shape):
        width = self.units * (2 if self.is_gated_act else 1)
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], width),
            initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
        )
        # Not cast automatically: in training the bias is added in float32.
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(width,), initializer="zeros", autocast=False)
        self.built = True

    @property
    def bias_or_zeros(self):
        """The bias, for a kernel that adds one in any case; float32."""
        return ops.zeros(self.kernel.shape[-1:], "float32") if self.bias is None else self.bias

    def product(self, inputs, seed=None):
        """`inputs @ kernel` without bias and activation; `seed` as for `adaptation`."""
        outputs = flat_matmul(inputs, ops.cast(self.kernel, self.compute_dtype))
        adaptation = self.adaptation(inputs, seed)
        return outputs if adaptation is None else outputs + adaptation

    def adaptation(self, inputs, seed=None):
        """What a layer with an adapter adds to the product, see `LowRankDense`; here None."""
        return None

    def call(self, inputs, training=False, seed=None):
        outputs = self.product(inputs, seed)
        if training and self.hidden_act:
            *leading, width = ops.shape(outputs)
            flat = ops.reshape(outputs, (-1, width))
            activated = bias_activation(flat, self.bias_or_zeros, self.hidden_act, self.is_gated_act)
            return ops.reshape(activated, (*leading, self.units))
        if self.bias is not None:
            outputs = outputs + ops.cast(self.bias, outputs.dtype)
        if self.is_gated_act:
            outputs, gate = ops.split(outputs, 2, axis=-1)
            return activation(self.hidden_act)(outputs) * gate
        return activation(self.hidden_act)(outputs) if self.hidden_act else outputs

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        names = ("units", "hidden_act", "initializer_range", "use_bias", "is_gated_act")
        return super().get_config() | {name: getattr(self, name) for name in names}
