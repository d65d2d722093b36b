"""`embed` and `similarity`, or `rank`, of `kbert.load` as a worker of search.py."""

import numpy as np

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"], 1)
    import kbert

    model = kbert.load(settings["folder"], precision=settings["precision"])

    def scores(texts):
        """(texts, queries); the first two texts are the queries."""
        if "prediction" in model.task.serving.answers:
            answers = model.predict([(texts[0], text) for text in texts])
            return np.array([[answer["prediction"]] for answer in answers])
        vectors = model.embed(texts, task="document")
        return model.similarity(model.embed(texts[:2], task="query"), vectors).T

    turns.ready(tensorflow=tf.__version__)
    turns.answer_batches(scores)


if __name__ == "__main__":
    run_worker()
