"""A model without weights: a text's vector counts its letters."""

from types import SimpleNamespace

import numpy as np

from kbert.tasks.similarity.vectors import similarities


class LetterVectors:
    """What retrievers use of a `LoadedModel`; `embedded` counts the texts."""

    source, embedded, task = "letters", 0, SimpleNamespace(serving=None, files=None)

    def embed(self, texts, task=None):
        self.embedded += len(texts)
        counts = [[text.count(letter) for letter in "abcdefghij"] for text in texts]
        return np.array(counts, np.float32)

    def similarity(self, queries, texts):
        return similarities(queries, texts)

    def rank(self, query, texts, raw_scores=False):
        scores = [-abs(len(query) - len(text)) for text in texts]
        order = sorted(range(len(texts)), key=lambda n: -scores[n])
        return [{"index": n, "score": scores[n], "text": texts[n]} for n in order]
