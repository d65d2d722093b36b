"""kbert on one or several replicas, a step of each global batch size in turn; a worker of scaling.py.

All of them train the same model.
"""

import itertools
import os

from benchmarks.peers.turns import Turns
from benchmarks.workers.kbert_steps import model_and_steps
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    if settings.get("tf_config"):
        os.environ["TF_CONFIG"] = settings["tf_config"]
    tf = tensorflow_with(settings["threads"])
    from kbert.config import Devices
    from kbert.training.devices.distribution import make_strategy

    strategy = make_strategy(Devices(settings["strategy"], settings["num_devices"]))
    model, step_on = model_and_steps(settings["encoder"], settings["precision"], {}, 0, strategy)
    steps = [
        (size, step_on(batches_of(settings, strategy, size, tf), jit_compile=False))
        for size in settings["batch_sizes"]
    ]
    turns.ready(replicas=strategy.num_replicas_in_sync, parameters=model.count_params())
    in_turn = itertools.cycle(steps)

    def take_step():
        size, step = next(in_turn)
        return {"batch_size": size} | step()

    turns.take_steps(take_step)


def batches_of(settings, strategy, batch_size, tf):
    """Two global batches again and again; each process has its rows of them."""
    from benchmarks.workers.starting_point import random_batches
    from kbert.input_pipelines.epochs import own_rows
    from kbert.training.devices.distribution import distribute

    arrays = random_batches(
        2, batch_size, settings["seq_length"], settings["predictions"], settings["encoder"]["vocab_size"]
    )
    dataset = tf.data.Dataset.from_tensor_slices(arrays).repeat()

    def of_process(share):
        return dataset.map(
            lambda batch: {name: own_rows(value, batch_size, share) for name, value in batch.items()}
        )

    return distribute(strategy, of_process)


if __name__ == "__main__":
    run_worker()
