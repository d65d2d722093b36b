"""Run by a Python with MediaPipe: asks files as an app does.

Needs nothing of kbert. Argument: a JSON file of [{"file", "task", "texts", "answers"}], where `task` is
TextClassifier or TextEmbedder. `answers` is the .npy file to write: float32 (texts, numbers), the vectors,
or the scores by the index of their label. The labels as they are ranked go to <answers>.json.
"""

import json
import sys

import numpy as np
from mediapipe.tasks.python import BaseOptions
from mediapipe.tasks.python.text import (
    TextClassifier,
    TextClassifierOptions,
    TextEmbedder,
    TextEmbedderOptions,
)


def main(requests_file):
    with open(requests_file, encoding="utf-8") as file:
        requests = json.load(file)
    for request in requests:
        ask = {"TextClassifier": classify, "TextEmbedder": embed}[request["task"]]
        labels, numbers = ask(BaseOptions(model_asset_path=request["file"]), request["texts"])
        np.save(request["answers"], np.array(numbers, np.float32))
        with open(request["answers"] + ".json", "w", encoding="utf-8") as file:
            json.dump(labels, file)


def classify(options, texts):
    """(the labels of each text, as MediaPipe ranks them; the scores by the index of their label)."""
    ranked, scores = [], []
    with TextClassifier.create_from_options(TextClassifierOptions(options)) as classifier:
        for text in texts:
            (head,) = classifier.classify(text).classifications
            ranked.append([one.category_name for one in head.categories])
            scores.append([one.score for one in sorted(head.categories, key=lambda one: one.index)])
    return ranked, scores


def embed(options, texts):
    with TextEmbedder.create_from_options(TextEmbedderOptions(options)) as embedder:
        return [], [embedder.embed(text).embeddings[0].embedding for text in texts]


if __name__ == "__main__":
    main(*sys.argv[1:])
