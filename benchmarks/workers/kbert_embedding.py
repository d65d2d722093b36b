"""`kbert.load(...).embed` as a worker of embedding.py."""

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"], 1)
    import kbert

    model = kbert.load(settings["hugging_face_folder"], precision=settings["precision"])
    model = model.with_max_seq_length(settings["max_seq_length"])
    turns.ready(tensorflow=tf.__version__)
    turns.answer_batches(lambda texts: model.embed(texts, pooling="mean", normalize=True))


if __name__ == "__main__":
    run_worker()
