"""The arithmetic of a training step in large matrix products alone; a worker of training_step.py."""

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with

# Of the matrices: large enough for each device, small enough for the work of one step.
_CPU_SIZE, _GPU_SIZE = 1536, 8192


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"])
    size = _GPU_SIZE if tf.config.list_physical_devices("GPU") else _CPU_SIZE
    matrix = tf.cast(tf.random.stateless_normal([size, size], seed=(1, 2)), settings["precision"])
    product = tf.function(lambda: tf.linalg.matmul(matrix, matrix))
    number = max(1, round(settings["flops"] / (2 * size**3)))

    def take_step():
        for _ in range(number):
            last = product()
        last[0, 0].numpy()  # a GPU works on while Python goes on
        return {}

    turns.ready(products=number)
    turns.take_steps(take_step)


if __name__ == "__main__":
    run_worker()
