import keras
import tensorflow as tf
from keras import ops

from kbert.kernels.dropout import dropout
from kbert.kernels.layer_norm import norm_dropout, residual_norm


class LayerNorm(keras.layers.LayerNormalization):
    """Keras's layer norm with the dropout beside it; in training both are one kernel.

    Args:
      epsilon: of the norm.
      dropout: share dropped in training: of the output of a call, or of what `after` adds.
      center: whether there is a beta.

    Call arguments:
      inputs: tensor of shape `(..., width)`.
      seed: of the dropout, uint32 of shape (2,); None where `dropout` is 0.
    """

    def __init__(self, epsilon, dropout=0.0, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)
        self.dropout = dropout

    def build(self, input_shape):
        super().build(input_shape)
        self.axis = [-1]  # Keras 3.16 counts from the front: the inputs of a call may have another rank

    def call(self, inputs, seed=None, training=False):
        if not training:
            return super().call(inputs)
        seed = ops.zeros((2,), "uint32") if seed is None else seed
        flat = ops.cast(ops.reshape(inputs, (-1, inputs.shape[-1])), self.compute_dtype)
        normed = norm_dropout(flat, self.gamma, self._beta_or_zeros, seed, self.dropout, self.epsilon)
        return ops.reshape(normed, ops.shape(inputs))

    @property
    def _beta_or_zeros(self):
        return ops.zeros_like(self.gamma) if self.beta is None else self.beta

    def before(self, hidden, seed=None):
        """What attention or feed-forward read: the hidden states themselves, whose norm stands after them."""
        return hidden

    def after(self, residual, dense, inputs, seed=None):
        """`layer_norm(residual + dropout(dense(inputs)))`.

        Args:
          residual: tensor of shape `(tokens, width)`.
          dense: the `FlatDense`, without activation.
          inputs: tensor of shape `(tokens, m)`.
          seed: of both dropouts, this and that of an adapter; None outside of training.

        Returns:
          Tensor like `residual`.
        """
        if seed is None:
            return self(residual + dense(inputs))
        product = dense.product(inputs, seed)
        bias, gamma, beta = dense.bias_or_zeros, self.gamma, self._beta_or_zeros
        return residual_norm(
            product, bias, residual, gamma, beta, seed, rate=self.dropout, epsilon=self.epsilon
        )

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout}


@keras.saving.register_keras_serializable(package="kbert")
class Residual(keras.layers.Layer):
    """No norm: what stands around the attention of a first block, whose input is normed already.

    Args:
      dropout: share dropped in training of what `after` adds.
    """

    def __init__(self, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.dropout = dropout
        self.built = True

    def before(self, hidden, seed=None):
        """See `LayerNorm.before`."""
        return hidden

    def after(self, residual, dense, inputs, seed=None):
        """`residual + dropout(dense(inputs))`; arguments as for `LayerNorm.after`."""
        return _residual_sum(residual, dense, inputs, seed, self.dropout)

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout}


@keras.saving.register_keras_serializable(package="kbert")
class PreLayerNorm(LayerNorm):
    """A norm before attention or feed-forward (arXiv 2002.04745); see `LayerNorm` for the arguments."""

    def __init__(self, epsilon, dropout=0.0, **kwargs):
        super().__init__(epsilon, **kwargs)
        self.residual_dropout = dropout

    def before(self, hidden, seed=None):
        """The norm of the hidden states."""
        return self(hidden, training=seed is not None)

    def after(self, residual, dense, inputs, seed=None):
        """`residual + dropout(dense(inputs))`; arguments as for `LayerNorm.after`."""
        return _residual_sum(residual, dense, inputs, seed, self.residual_dropout)

    def get_config(self):
        return super().get_config() | {"dropout": self.residual_dropout}


def _residual_sum(residual, dense, inputs, seed, rate):
    added = dense(inputs, seed=seed)
    return (dropout(added, seed, rate) if seed is not None and rate else added) + residual


class AnsweringLayerNorm:
    """A `LayerNorm` or `PreLayerNorm` for answers: in float32 whatever the dtype of its input.

    Written so that grappler does not see a norm: its fused one takes .001 for any epsilon in one of its
    patterns, and arranges its work anew at each call (TensorFlow 2.21).

    Args:
      layer: the built layer.
    """

    def __init__(self, layer: LayerNorm):
        self._layer, self._stands_before = layer, isinstance(layer, PreLayerNorm)

    def __call__(self, inputs):
        layer, x = self._layer, tf.cast(inputs, "float32")
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
        normed = centered * tf.math.rsqrt(variance + layer.epsilon) * layer.gamma.value
        return tf.cast(normed if layer.beta is None else normed + layer.beta.value, inputs.dtype)

    def before(self, hidden, seed=None):
        """See `LayerNorm.before`."""
        return self(hidden) if self._stands_before else hidden

    def after(self, residual, dense, inputs, seed=None):
        """See `LayerNorm.after`; `dense` is an `AnsweringDense`."""
        added = dense(inputs) + residual
        return added if self._stands_before else self(added)


def answering_norm(layer: LayerNorm | Residual) -> AnsweringLayerNorm | Residual:
    """What computes a block's norm for answers; where there is none, that is the `Residual` itself."""
    return layer if isinstance(layer, Residual) else AnsweringLayerNorm(layer)
