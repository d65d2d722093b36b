"""The processor's speed in large matrix products, in GF/s, measured between the turns of a benchmark."""

import time

from benchmarks.peers.turns import Turns
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow

_SIZE = 1536
_PRODUCTS = 3


def run_worker():
    turns = Turns()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(turns.settings["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(turns.settings["threads"])
    values = tf.random.stateless_normal([_SIZE, _SIZE], seed=(1, 2))
    matrices = {name: tf.cast(values, name) for name in turns.settings["precisions"]}
    product = tf.function(lambda matrix: tf.linalg.matmul(matrix, matrix))
    for matrix in matrices.values():
        product(matrix)
    turns.ready(tensorflow=tf.__version__)
    while turns.next_step():
        turns.report(**{name: gigaflops_per_second(product, matrix) for name, matrix in matrices.items()})


def gigaflops_per_second(product, matrix) -> float:
    """The speed of the fastest of a few products."""
    fastest = float("inf")
    for _ in range(_PRODUCTS):
        start = time.perf_counter()
        product(matrix).numpy()
        fastest = min(fastest, time.perf_counter() - start)
    return 2 * _SIZE**3 / fastest / 1e9


if __name__ == "__main__":
    run_worker()
