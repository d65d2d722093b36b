"""A random model of a task that is served, beside the same one in Python."""

import contextlib

import numpy as np

import kbert
from export.server.running import DevelopmentServer
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.export.server.asking import Asked
from tests.kbert.runs.written_run import written_run
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

PROMPTS = {"query": "play ", "document": "day "}
TEXTS = ["play a day", "the fluffy", "the play, the plays and the days of all the players"]


@contextlib.contextmanager
def served_task(folder, name, further_pooling):
    """(what asks a server, the model in Python)."""
    vocabulary, task = small_corpus.vocabulary(), TASKS[name](further_pooling)
    model = task.build_model(BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary))))
    randomize(model)
    run = written_run(folder / "run", task, model, vocabulary)
    with DevelopmentServer(run.path, name, 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(run.path)


def require_the_ranks_of_python(asked, loaded):
    """`/rerank` orders texts as `rank` does."""
    expected = loaded.rank("the day", TEXTS)
    status, answer = asked.post("/rerank", {"query": "the day", "texts": TEXTS})
    assert status == 200 and [one["index"] for one in answer] == [one["index"] for one in expected]
    scores = [one["score"] for one in expected]
    np.testing.assert_allclose([one["score"] for one in answer], scores, rtol=1e-5, atol=1e-5)
    assert asked.rest("GET", "/info")[1]["can"]["rank"]
