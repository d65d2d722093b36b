import keras
from keras import ops

from kbert.kernels.layer_norm import norm_dropout, residual_norm


class LayerNorm(keras.layers.LayerNormalization):
    """Keras's layer norm with the dropout beside it; in training both are one kernel.

    Args:
      epsilon: of the norm.
      dropout: share dropped in training: of the output of a call, or of what `add_and_norm` adds.

    Call arguments:
      inputs: tensor of shape `(..., width)`.
      seed: of the dropout, uint32 of shape (2,); None where `dropout` is 0.
    """

    def __init__(self, epsilon, dropout=0.0, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)
        self.dropout = dropout

    def call(self, inputs, seed=None, training=False):
        if not training:
            return super().call(inputs)
        seed = ops.zeros((2,), "uint32") if seed is None else seed
        flat = ops.cast(ops.reshape(inputs, (-1, inputs.shape[-1])), self.compute_dtype)
        normed = norm_dropout(flat, self.gamma, self.beta, seed, self.dropout, self.epsilon)
        return ops.reshape(normed, ops.shape(inputs))

    def add_and_norm(self, residual, dense, inputs, seed=None):
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
        gamma, beta = self.gamma, self.beta
        return residual_norm(
            product, dense.bias, residual, gamma, beta, seed, rate=self.dropout, epsilon=self.epsilon
        )

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout}
