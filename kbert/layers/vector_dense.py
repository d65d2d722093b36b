"""Dense layers on vectors of texts or tokens, with the activations of torch."""

import dataclasses

import keras
from keras import ops

from kbert.config.dense_config import chain_width, dense_configs
from kbert.layers.unit_length import unit

# torch's defaults where Keras has others; RReLU is the mean of its slopes, as torch takes it in answers.
_ACTIVATIONS = {
    "Identity": lambda x: x,
    "Tanh": ops.tanh,
    "ReLU": ops.relu,
    "GELU": lambda x: ops.gelu(x, approximate=False),
    "SiLU": ops.silu,
    "Sigmoid": ops.sigmoid,
    "Mish": keras.activations.mish,
    "ELU": ops.elu,
    "SELU": ops.selu,
    "CELU": ops.celu,
    "LeakyReLU": lambda x: ops.leaky_relu(x, 0.01),
    "ReLU6": ops.relu6,
    "RReLU": lambda x: ops.leaky_relu(x, (1 / 8 + 1 / 3) / 2),
    "Softplus": ops.softplus,
    "Softsign": ops.softsign,
    "LogSigmoid": ops.log_sigmoid,
    "Hardtanh": ops.hard_tanh,
    "Hardsigmoid": ops.hard_sigmoid,
    "Hardswish": ops.hard_silu,
    "Tanhshrink": ops.tanh_shrink,
    "Softshrink": ops.soft_shrink,
    "Hardshrink": ops.hard_shrink,
    "Softmax": ops.softmax,
    "Softmin": lambda x: ops.softmax(-x),
    "LogSoftmax": ops.log_softmax,
}


@keras.saving.register_keras_serializable(package="kbert")
class VectorDense(keras.layers.Layer):
    """A chain of dense layers, see `DenseConfig`, in float32. Without layers the vectors stay.

    Args:
      dense: `DenseConfig`s, or dicts of their settings.

    Call arguments:
      vectors: tensor of shape `(..., width)`.

    Returns:
      Tensor of shape `(..., units of the last layer)`.
    """

    def __init__(self, dense=(), **kwargs):
        super().__init__(**kwargs)
        self.dense = dense_configs(dense)

    def build(self, vectors_shape):
        self.layers, self.residuals, width = [], [], vectors_shape[-1]
        for number, config in enumerate(self.dense):
            layer = keras.layers.Dense(
                config.units, use_bias=config.use_bias, dtype=self.dtype_policy, name=f"dense_{number}"
            )
            residual = None
            if config.needs_matrix(width):
                residual = keras.layers.Dense(
                    config.units, use_bias=False, dtype=self.dtype_policy, name=f"residual_{number}"
                )
                residual.build((None, width))
            layer.build((None, width))
            self.layers.append(layer)
            self.residuals.append(residual)
            width = config.units
        self.built = True

    def call(self, vectors):
        for config, layer, residual in zip(self.dense, self.layers, self.residuals, strict=True):
            vectors = unit(vectors) if config.normalize else vectors
            outputs = _ACTIVATIONS[config.activation](layer(vectors))
            if config.use_residual:
                outputs = outputs + (vectors if residual is None else residual(vectors))
            vectors = outputs
        return vectors

    def compute_output_shape(self, vectors_shape):
        return (*vectors_shape[:-1], chain_width(self.dense, vectors_shape[-1]))

    def get_config(self):
        return super().get_config() | {"dense": [dataclasses.asdict(config) for config in self.dense]}
