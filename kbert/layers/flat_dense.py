import math

import keras
import tensorflow as tf
from keras import ops

from kbert.kernels.bias_activation import bias_activation
from kbert.layers import fresh_weights

_ACTIVATIONS = {
    "gelu": lambda x: ops.gelu(x, approximate=True),  # modeling.py: tanh with the constant .044715
    "gelu_erf": lambda x: ops.gelu(x, approximate=False),
    "relu": keras.ops.relu,
    "tanh": keras.ops.tanh,
    "linear": keras.activations.linear,
}


def activation(name: str):
    """The function for a `hidden_act` of kbert.config.ACTIVATIONS."""
    return _ACTIVATIONS[name]


def fused_activation(name: str):
    """The same in a form that TensorFlow fuses with the product and bias before it."""
    return _fused_gelu_erf if name == "gelu_erf" else activation(name)


def _fused_gelu_erf(x):
    half, unit, root = (tf.constant(value, x.dtype) for value in (0.5, 1.0, math.sqrt(0.5)))
    return (tf.math.erf(x * root) + unit) * half * x


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
            initializer=fresh_weights.normal(self.initializer_range),
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


class AnsweringDense:
    """A `FlatDense` for answers: in float32 with its own variables, else with transposed copies.

    oneDNN arranges a kernel in bfloat16 at each call, and a transposed one in two thirds of the time.

    Variables and no constants: a server would hold constants some eight times (docs/notes/speed.md). Where
    its environment says TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, oneDNN arranges variables once, as it does
    constants.

    Args:
      layer: the built `FlatDense`.
      precision: "float32" or "bfloat16".

    Call arguments:
      inputs: tensor of shape `(tokens, m)`.
    """

    def __init__(self, layer: FlatDense, precision: str):
        weights = [layer.kernel.value] if layer.bias is None else [layer.kernel.value, layer.bias.value]
        self._transposed = precision != "float32"
        if self._transposed:
            copies = [tf.cast(weight, precision) for weight in (tf.transpose(weights[0]), *weights[1:])]
            weights = [tf.Variable(copy, trainable=False) for copy in copies]
        self._kernel, *self._bias = weights
        self._activation = fused_activation(layer.hidden_act or "linear")
        self._is_gated = layer.is_gated_act

    def __call__(self, inputs, training=False, seed=None):
        outputs = tf.matmul(inputs, self._kernel, transpose_b=self._transposed)
        if self._bias:
            outputs = tf.nn.bias_add(outputs, self._bias[0])
        if self._is_gated:
            outputs, gate = tf.split(outputs, 2, axis=-1)
            # In bfloat16 these ops take twice as long as in float32, both conversions included.
            activated = self._activation(tf.cast(outputs, "float32"))
            return tf.cast(activated, gate.dtype) * gate
        return self._activation(outputs)
