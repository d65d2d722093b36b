"""A SavedModel of kbert as a worker of serving.py, loaded as TensorFlow Serving loads it."""

import os

import numpy as np

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    if "frozen" in settings["options"]:
        os.environ["TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"] = "1"
    # One op at a time, each on all threads: TensorFlow Serving's --tensorflow_inter_op_parallelism=1.
    tf = tensorflow_with(settings["threads"], 1)
    from export.gate.saved_model_session import SavedModelSession

    model = SavedModelSession(settings[f"savedmodel_{settings['precision']}"])

    def answer(texts):
        outputs = model.run("serving_default", {"text": np.array(texts, object)}, ("probabilities",))
        return outputs["probabilities"]

    turns.ready(tensorflow=tf.__version__)
    turns.answer_batches(answer)


if __name__ == "__main__":
    run_worker()
