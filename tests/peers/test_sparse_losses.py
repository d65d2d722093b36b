"""The losses of `sparse_embedding` beside sentence-transformers' SpladeLoss, on the same vectors."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kbert.features import TEACHER_SCORES
from kbert.tasks.sparse_embedding.sparse_embedding import SparseEmbedding
from tests.kbert.tasks.sparse_embedding.test_sparse_losses import ROWS, case
from tests.kbert.tasks.test_losses import evaluate

PEER = Path(__file__).with_name("sparse_losses_peer.py")


@pytest.mark.slow
def test_losses_are_those_of_sentence_transformers(peers_python):
    num_texts = 4
    scores = [[float(row * place % 5) for place in range(1, num_texts)] for row in range(ROWS)]
    outputs, batch = case(num_texts, weights=[1] * ROWS, **{TEACHER_SCORES: np.float32(scores)})
    given = json.dumps({"embeddings": outputs["embeddings"].tolist(), "scores": scores})
    run = subprocess.run([peers_python, PEER], input=given, capture_output=True, text=True, check=True)
    expected = json.loads(run.stdout.splitlines()[-1])
    found = {
        "taught": evaluate(SparseEmbedding(num_negatives=num_texts - 2, is_taught=True), outputs, batch)[
            "loss"
        ]
    }
    found |= evaluate(SparseEmbedding(num_negatives=num_texts - 2), outputs, batch)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5), name
