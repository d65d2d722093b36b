"""Works on the equal parts of a batch one after the other and adds the results, in the memory of one part."""

import tensorflow as tf


def summed_over_parts(function, batch: dict, num_parts: int, *arguments):
    """The sums of `function(part, number, *arguments)` over the parts of a batch.

    This is a loop in the graph. Its shapes are fixed if those of the batch are, so XLA can compile it too.

    Args:
      function: a tf.function. It takes a part of the batch, the number of the part (int32 scalar tensor) and
        `arguments`. It returns a structure of tensors whose shapes are the same for every part.
      batch: name -> tensor whose first dimension is divisible by `num_parts`.
      num_parts: the number of parts; each part is a range of rows.
      *arguments: tensors that are the same for all parts.
    """
    stacked = {name: _in_parts(value, num_parts) for name, value in batch.items()}

    def part(number):
        return {name: tf.gather(value, number) for name, value in stacked.items()}

    sums = function.get_concrete_function(
        {name: tf.TensorSpec(value.shape[1:], value.dtype) for name, value in stacked.items()},
        tf.TensorSpec([], tf.int32),
        *tf.nest.map_structure(tf.type_spec_from_value, arguments),
    ).structured_outputs
    zeros = tf.nest.map_structure(lambda tensor: tf.zeros(tensor.shape, tensor.dtype), sums)

    def add_part(number, sums):
        values = function(part(number), number, *arguments)
        return number + 1, tf.nest.map_structure(tf.add, sums, values)

    _, sums = tf.while_loop(
        lambda number, sums: number < num_parts,
        add_part,
        (tf.constant(0), zeros),
        parallel_iterations=1,
        maximum_iterations=num_parts,
    )
    return sums


def _in_parts(value, num_parts):
    """(examples, ...) -> (parts, examples / parts, ...)."""
    dynamic = tf.shape(value)
    shape = [dynamic[axis] if size is None else size for axis, size in enumerate(value.shape)]
    return tf.reshape(value, [num_parts, shape[0] // num_parts, *shape[1:]])
