r"""Benchmark: each kernel of the training step beside the same formula in TensorFlow's own operations.

  python -m benchmarks.kernels

Forward and backward pass together, at the shapes of BERT-mini with 32 x 128 tokens. Both sides run in turn;
the table has medians. The plain side is what the layers would run without kernels: TensorFlow's operations
and gradients.
"""

import statistics
import time

from absl import flags

from benchmarks.figures import closing_line
from kbert import command_line

FLAGS = flags.FLAGS

TOKENS, WIDTH, HEADS, LENGTH, VOCAB_SIZE, PREDICTIONS = 4096, 256, 4, 128, 30522, 640
RATE = 0.1


def define_flags():
    flags.DEFINE_integer("rounds", 15, "Timed turns of each side.", lower_bound=1)
    flags.DEFINE_integer("threads", 2, "Threads of TensorFlow.", lower_bound=1)


def cases(tf):
    """name -> (kernel, plain formula, tensors): functions of the tensors to one tensor."""
    from kbert.kernels.attention_softmax import attention_softmax, mask_adder
    from kbert.kernels.bias_activation import bias_activation
    from kbert.kernels.cross_entropy import cross_entropy
    from kbert.kernels.dropout import dropout
    from kbert.kernels.residual_norm import residual_norm
    from kbert.kernels.vocabulary_logits import vocabulary_logits

    normal = tf.random.Generator.from_seed(1).normal
    seed, mask = tf.constant([1, 2], tf.uint32), tf.ones((TOKENS // LENGTH, LENGTH), tf.int32)
    labels = tf.range(PREDICTIONS)

    def plain_norm(x, bias, residual, gamma, beta):
        summed = residual + tf.nn.dropout(x + bias, RATE)
        mean, variance = tf.nn.moments(summed, [-1], keepdims=True)
        return tf.nn.batch_normalization(summed, mean, variance, beta, gamma, 1e-12)

    width, wide = normal((TOKENS, WIDTH)), normal((TOKENS, 4 * WIDTH))
    vector, wide_vector = normal((WIDTH,)), normal((4 * WIDTH,))
    scores = normal((TOKENS // LENGTH, HEADS, LENGTH, LENGTH))
    logits = normal((PREDICTIONS, VOCAB_SIZE))
    table, hidden, bias = normal((VOCAB_SIZE, WIDTH)), normal((PREDICTIONS, WIDTH)), normal((VOCAB_SIZE,))
    return {
        "bias + GELU": (
            lambda x, b: bias_activation(x, b, "gelu"),
            lambda x, b: tf.nn.gelu(x + b, approximate=True),
            (wide, wide_vector),
        ),
        "bias + dropout + residual + layer norm": (
            lambda *tensors: residual_norm(*tensors, seed, RATE, 1e-12),
            plain_norm,
            (width, vector, width, vector, vector),
        ),
        "mask + softmax + dropout": (
            lambda s: attention_softmax(s, mask, seed, 1.0, RATE, False),
            lambda s: tf.nn.dropout(tf.nn.softmax(s + mask_adder(mask, False)), RATE),
            (scores,),
        ),
        "dropout": (lambda x: dropout(x, seed, RATE), lambda x: tf.nn.dropout(x, RATE), (wide,)),
        "cross-entropy of 640 x 30,522 logits": (
            lambda x: cross_entropy(x, labels),
            lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x),
            (logits,),
        ),
        "product with the token table": (
            vocabulary_logits,
            lambda h, t, b: tf.matmul(h, tf.transpose(t)) + b,
            (hidden, table, bias),
        ),
    }


def main(argv):
    del argv
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(FLAGS.threads)
    print("| forward and backward | TensorFlow ms | kernel ms | times |")
    print("|---|---:|---:|---:|")
    results = {}
    for name, (kernel, plain, tensors) in cases(tf).items():
        sides = [_with_gradient(tf, function, tensors) for function in (plain, kernel)]
        seconds = ([], [])
        for turn in range(FLAGS.rounds + 2):
            for side, run in zip(seconds, sides, strict=True):
                start = time.perf_counter()
                run()
                if turn >= 2:  # the first ones trace and compile
                    side.append(time.perf_counter() - start)
        before, after = (1000 * statistics.median(side) for side in seconds)
        print(f"| {name} | {before:.1f} | {after:.1f} | {before / after:.1f} |", flush=True)
        results[name] = {"tensorflow_ms": before, "kernel_ms": after}
    closing_line.close("kernels", {"results": results})


def _with_gradient(tf, function, tensors):
    shape = tf.function(function).get_concrete_function(*tensors).output_shapes
    upstream = tf.random.Generator.from_seed(2).normal(shape)

    @tf.function
    def run():
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            output = function(*tensors)
        return output, tape.gradient(output, tensors, output_gradients=upstream)

    return run


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
