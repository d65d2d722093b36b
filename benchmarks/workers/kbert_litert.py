"""A LiteRT file of kbert as a worker of litert.py: rows of token ids in, probabilities out."""

from benchmarks.peers.turns import Turns
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow


def run_worker():
    turns = Turns()
    settings = turns.settings
    from importlib.metadata import version

    import numpy as np

    from export.litert.litert_model import LiteRTModel
    from kbert.features import ENCODER_INPUTS
    from kbert.runs.run_directory import RunDirectory

    path = settings["files"][settings["precision"]]
    model = LiteRTModel(path, RunDirectory(settings["run_dir"]).vocabulary(), settings["threads"])

    def answer(row):
        inputs = {name: np.array([row[name]], np.int32) for name in ENCODER_INPUTS}
        return model.answer_ids(inputs)["probabilities"]

    turns.ready(litert=version("ai-edge-litert"), bytes=settings["bytes"][settings["precision"]])
    turns.answer_batches(answer)


if __name__ == "__main__":
    run_worker()
