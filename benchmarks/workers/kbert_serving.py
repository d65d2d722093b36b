"""A SavedModel of kbert as a worker of serving.py, loaded as TensorFlow Serving loads it."""

import os

from benchmarks.peers.turns import Turns
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow


def run_worker():
    turns = Turns()
    settings = turns.settings
    if settings["option"] == "frozen":
        os.environ["TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"] = "1"
    import numpy as np
    import tensorflow as tf

    # One op at a time, each on all threads: TensorFlow Serving's --tensorflow_inter_op_parallelism=1.
    tf.config.threading.set_intra_op_parallelism_threads(settings["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from export.gate.session_check import load_session

    model = load_session(settings[f"savedmodel_{settings['precision']}"])

    def answer(texts):
        outputs = model.run("serving_default", {"text": np.array(texts, object)}, ("probabilities",))
        return outputs["probabilities"]

    turns.ready(tensorflow=tf.__version__)
    turns.answer_batches(answer)


if __name__ == "__main__":
    run_worker()
