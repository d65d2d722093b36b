"""The arithmetic of a training step in large matrix products alone; a worker of training_step.py."""

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with

_SIZE = 1536


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"])
    matrix = tf.cast(tf.random.stateless_normal([_SIZE, _SIZE], seed=(1, 2)), settings["precision"])
    product = tf.function(lambda: tf.linalg.matmul(matrix, matrix))
    number = max(1, round(settings["flops"] / (2 * _SIZE**3)))

    def take_step():
        for _ in range(number):
            product().numpy()
        return {}

    turns.ready(products=number)
    turns.take_steps(take_step)


if __name__ == "__main__":
    run_worker()
