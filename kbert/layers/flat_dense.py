import keras
from keras import ops


def flat_matmul(inputs, matrix):
    """`inputs @ matrix` for inputs of shape `(..., m)` and a matrix `(m, n)`, as one flat product.

    Batched, TensorFlow would give the matrix a gradient for every row of the batch and add those up: for
    an output matrix of 30,522 tokens that is a gigabyte a step, and half of its time.
    """
    *leading, width = ops.shape(inputs)
    product = ops.matmul(ops.reshape(inputs, (-1, width)), matrix)
    return ops.reshape(product, (*leading, ops.shape(matrix)[1]))


@keras.saving.register_keras_serializable(package="kbert")
class FlatDense(keras.layers.Dense):
    """A dense layer over the last axis that runs as one flat product, whatever the rank of its input.

    Arguments, weights and results are those of `keras.layers.Dense`.

    Call arguments:
      inputs: tensor of shape `(..., m)`.

    Returns:
      Tensor of shape `(..., units)`.
    """

    def call(self, inputs, training=None):
        outputs = flat_matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = outputs + self.bias
        return outputs if self.activation is None else self.activation(outputs)
