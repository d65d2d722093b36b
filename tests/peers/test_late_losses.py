"""The losses of `late_interaction` beside sentence-transformers', on the same vectors."""

import json
import subprocess
from pathlib import Path

import pytest

from kbert.features import SCORED_TOKENS
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from tests.kbert.tasks.late_interaction.test_losses_of_late_interaction import ROWS, case
from tests.kbert.tasks.test_losses import evaluate

PEER = Path(__file__).with_name("late_losses_peer.py")


@pytest.mark.slow
@pytest.mark.parametrize("num_texts", [3, 4])
def test_losses_are_those_of_sentence_transformers(peers_python, num_texts):
    scores = [[float(row * place % 5) for place in range(1, num_texts)] for row in range(ROWS)]
    outputs, batch = case(num_texts, scores=scores)
    given = {"embeddings": outputs["embeddings"].tolist(), "scored": batch[SCORED_TOKENS].tolist()}
    run = subprocess.run(
        [peers_python, PEER], input=json.dumps(given | {"scores": scores}), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    expected = json.loads(run.stdout.splitlines()[-1])
    for name, is_taught in (("loss", False), ("taught", True)):
        task = LateInteraction(num_negatives=num_texts - 2, is_taught=is_taught)
        assert evaluate(task, outputs, batch)["loss"] == pytest.approx(expected[name], rel=1e-5), name
