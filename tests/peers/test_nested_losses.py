"""The losses of nested vectors beside sentence-transformers' MatryoshkaLoss, on the same vectors."""

import json
import subprocess
from pathlib import Path

import pytest

from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from tests.kbert.tasks.similarity.test_in_batch_loss import case
from tests.kbert.tasks.test_losses import evaluate

PEER = Path(__file__).with_name("nested_losses_peer.py")
DIMS, SCORES = [5, 3, 1], [0.0, 0.25, 0.5, 1.0, 0.75, 0.1]


@pytest.mark.slow
def test_losses_are_those_of_sentence_transformers(peers_python):
    outputs, batch = case(3)
    given = json.dumps({"embeddings": outputs["embeddings"].tolist(), "scores": SCORES, "dims": DIMS})
    run = subprocess.run([peers_python, PEER], input=given, capture_output=True, text=True, check=True)
    expected = json.loads(run.stdout.splitlines()[-1])
    ranking = MultipleNegativesRanking(num_negatives=1, matryoshka_dims=DIMS)
    assert evaluate(ranking, outputs, batch)["loss"] == pytest.approx(expected["ranking"], rel=1e-5)
    _, batch = case(2, scores=SCORES)
    cosines = CosineSimilarity(matryoshka_dims=DIMS)
    assert evaluate(cosines, outputs, batch)["loss"] == pytest.approx(expected["cosine"], rel=1e-5)
