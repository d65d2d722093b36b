"""The losses of tasks of vectors beside sentence-transformers', on the same vectors."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kbert.features import SCORED_TOKENS, TEACHER_SCORES
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.sparse_embedding.sparse_embedding import SparseEmbedding
from tests.kbert.tasks.late_interaction import test_losses_of_late_interaction as late_losses
from tests.kbert.tasks.similarity import test_in_batch_loss
from tests.kbert.tasks.sparse_embedding import test_sparse_losses
from tests.kbert.tasks.test_losses import evaluate

PEER = Path(__file__).with_name("losses_peer.py")
DIMS = [5, 3, 1]


def teacher_scores(num_rows, num_texts):
    return [[float(row * place % 5) for place in range(1, num_texts)] for row in range(num_rows)]


def late(num_texts):
    """(what the peer is given, name of a loss there -> ours)"""
    scores = teacher_scores(late_losses.ROWS, num_texts)
    outputs, batch = late_losses.case(num_texts, scores=scores)
    ours = {
        name: evaluate(LateInteraction(num_negatives=num_texts - 2, is_taught=is_taught), outputs, batch)[
            "loss"
        ]
        for name, is_taught in (("loss", False), ("taught", True))
    }
    return {"embeddings": outputs["embeddings"], "scored": batch[SCORED_TOKENS], "scores": scores}, ours


def sparse(num_texts):
    scores = teacher_scores(test_sparse_losses.ROWS, num_texts)
    weights = [1] * test_sparse_losses.ROWS
    outputs, batch = test_sparse_losses.case(num_texts, weights, **{TEACHER_SCORES: np.float32(scores)})
    taught = evaluate(SparseEmbedding(num_negatives=num_texts - 2, is_taught=True), outputs, batch)["loss"]
    ours = evaluate(SparseEmbedding(num_negatives=num_texts - 2), outputs, batch)
    return {"embeddings": outputs["embeddings"], "scores": scores}, ours | {"taught": taught}


def nested(num_texts):
    scores = [0.0, 0.25, 0.5, 1.0, 0.75, 0.1]
    outputs, batch = test_in_batch_loss.case(num_texts)
    ranking = MultipleNegativesRanking(num_negatives=num_texts - 2, matryoshka_dims=DIMS)
    _, scored = test_in_batch_loss.case(2, scores=scores)
    return {"embeddings": outputs["embeddings"], "scores": scores, "dims": DIMS}, {
        "ranking": evaluate(ranking, outputs, batch)["loss"],
        "cosine": evaluate(CosineSimilarity(matryoshka_dims=DIMS), outputs, scored)["loss"],
    }


@pytest.mark.slow
def test_losses_are_those_of_sentence_transformers(peers_python):
    asked = [("late", late(3)), ("late", late(4)), ("sparse", sparse(4)), ("nested", nested(3))]
    given = [
        (kind, {name: np.asarray(value).tolist() for name, value in given.items()})
        for kind, (given, _) in asked
    ]
    run = subprocess.run([peers_python, PEER], input=json.dumps(given), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    expected = map(json.loads, run.stdout.splitlines()[-len(asked) :])
    for (kind, (_, ours)), theirs in zip(asked, expected, strict=True):
        for name, value in theirs.items():
            assert ours[name] == pytest.approx(value, rel=1e-5), (kind, name)
