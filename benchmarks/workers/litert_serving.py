"""A LiteRT file of kbert as a worker: probabilities of rows of ids (litert.py) or of texts (serving.py)."""

from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.peers.turns import Turns
from kbert.cli import quiet_tensorflow  # noqa: F401


def run_worker():
    turns = Turns()
    settings = turns.settings
    from export.litert.litert_model import LiteRTModel
    from kbert.runs.run_directory import RunDirectory

    path = settings[f"litert_{settings['precision']}"]
    model = LiteRTModel(path, RunDirectory(settings["run_dir"]).vocabulary(), settings["threads"])

    def answer(batch):
        if isinstance(batch, list):
            return model(batch)["probabilities"]
        return model.answer_ids({name: np.array([ids], np.int32) for name, ids in batch.items()})[
            "probabilities"
        ]

    turns.ready(litert=version("ai-edge-litert"), bytes=Path(path).stat().st_size)
    turns.answer_batches(answer)


if __name__ == "__main__":
    run_worker()
