"""kbert, one pretraining step at a time; a worker of training_step.py and time_to_quality.py."""

import numpy as np

from benchmarks.peers.turns import Turns
from benchmarks.workers.kbert_steps import model_and_steps
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"])
    if tf.config.list_physical_devices("GPU"):
        turns.peak_megabytes = lambda: tf.config.experimental.get_memory_info("GPU:0")["peak"] / 1e6
    from kbert.checkpoints import model_loading
    from kbert.checkpoints.formats import read_checkpoint

    model, step_on = model_and_steps(
        settings["encoder"],
        settings["precision"],
        settings["optimizer"],
        settings["num_warmup_steps"],
        tf.distribute.get_strategy(),
    )
    model_loading.initialize(model, read_checkpoint(settings["hugging_face_folder"]))
    with np.load(settings["batches"]) as arrays:
        batches = tf.data.Dataset.from_tensor_slices(dict(arrays)).repeat()
    step = step_on(batches, settings.get("updates_per_step", 1), jit_compile="compile" in settings["options"])
    turns.ready(tensorflow=tf.__version__)
    turns.take_steps(step)


if __name__ == "__main__":
    run_worker()
