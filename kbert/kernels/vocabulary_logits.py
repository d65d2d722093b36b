"""The product with the token table. Its gradients need no transposed copies."""

from keras import ops

from kbert.kernels.kernel import compiled


@compiled
def _with_bias(product, bias):
    return ops.cast(product, "float32") + bias


def vocabulary_logits(hidden_states, table, bias):
    """`hidden_states @ transpose(table) + bias`.

    TensorFlow would compute the table's gradient transposed and then transpose it back: 31 megabytes per step
    for BERT-mini. Here every product reads its operands as they are stored. The bias's gradient is a product
    with ones, which reads the logits' gradient three times as fast as a sum over rows.

    Args:
      hidden_states: tensor `(rows, width)`, in the compute dtype.
      table: tensor `(vocab_size, width)`, in the compute dtype.
      bias: float32 tensor `(vocab_size,)`.

    Returns:
      float32 tensor `(rows, vocab_size)`.
    """

    @ops.custom_gradient
    def logits(hidden_states, table, bias):
        def gradient(upstream):
            for_product = ops.cast(upstream, table.dtype)
            ones = ops.ones((1, ops.shape(upstream)[0]), upstream.dtype)
            return (
                ops.matmul(for_product, table),
                ops.matmul(ops.transpose(for_product), hidden_states),
                ops.reshape(ops.matmul(ones, upstream), (-1,)),
            )

        return _with_bias(ops.matmul(hidden_states, ops.transpose(table)), bias), gradient

    return logits(hidden_states, table, bias)
