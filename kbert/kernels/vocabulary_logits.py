"""The product with the token table. Its gradients need no transposed copies."""

from keras import ops

from kbert.kernels.kernel import compiled
from kbert.kernels.sums import column_sums


@compiled
def _with_bias(product, bias):
    return ops.cast(product, "float32") + bias


def vocabulary_logits(hidden_states, table, bias):
    """`hidden_states @ transpose(table) + bias`.

    TensorFlow would compute the table's gradient transposed and then transpose it back: 31 megabytes per step
    for BERT-mini. Here every product reads its operands as they are stored.

    For training alone: the compiled part may not stand in an exported model.

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
            return (
                ops.matmul(for_product, table),
                ops.matmul(ops.transpose(for_product), hidden_states),
                column_sums(upstream),
            )

        return _with_bias(ops.matmul(hidden_states, ops.transpose(table)), bias), gradient

    return logits(hidden_states, table, bias)
