"""ColBERT is trained from an encoder alone: a search becomes better, with and without a teacher's scores."""

import itertools

import keras
import numpy as np
import pytest

import kbert
from kbert.checkpoints.convert import convert
from kbert.config import DatasetConfig
from kbert.config.token_vectors_config import QueryExpansion, TokenVectorsConfig
from kbert.encoder import BertEncoder
from kbert.experiments.finetuning import finetune
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.experiments.small_rows import WORDS, write_rows
from tests.kbert.runs.written_run import written_run
from tests.tfrecords_tools import small_corpus

pytestmark = [pytest.mark.slow, pytest.mark.long]

# A query of two words is answered by the text of the two words behind them.
PAIRS = list(itertools.combinations(range(7), 2))
QUERIES = [f"{WORDS[one]} {WORDS[other]}" for one, other in PAIRS]
TEXTS = [f"the {WORDS[one + 1]} and {WORDS[other + 1]}" for one, other in PAIRS]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """The files of a search."""
    folder = tmp_path_factory.mktemp("collection")
    corpus = write_rows(folder / "corpus.jsonl", [{"_id": f"{n}", "text": t} for n, t in enumerate(TEXTS)])
    queries = write_rows(
        folder / "queries.jsonl", [{"_id": f"{n}", "text": t} for n, t in enumerate(QUERIES)]
    )
    judged = "".join(f"{n}\t{n}\t1\n" for n in range(len(QUERIES)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return corpus, queries, folder / "qrels.tsv"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """The folder of a run with random weights."""
    keras.utils.set_random_seed(2)
    vocabulary, task = small_corpus.vocabulary(), TASKS["masked_lm"]()
    model = task.build_model(
        BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary), num_hidden_layers=2))
    )
    return written_run(tmp_path_factory.mktemp("start") / "run", task, model, vocabulary).path


def rows(with_scores):
    for n, query in enumerate(QUERIES):
        wrong = TEXTS[(n + 5) % len(TEXTS)]
        row = {"text": query, "text_pair": TEXTS[n], "negative_1": wrong}
        yield row | ({"scores": [6.0, -2.0]} if with_scores else {})


def config(is_taught, **changes):
    dataset = DatasetConfig(
        text_pair="text_pair", negatives=("negative_1",), scores="scores" if is_taught else None
    )
    settings = {"query_length": 8}
    return tiny_finetuning_config(
        task="late_interaction", dataset=dataset, task_settings=settings, train_batch_size=7, **changes
    )


def train(is_taught, start, folder, epochs):
    """(folder of the run, metrics) of a training on all rows, which are its development rows too."""
    file, run = write_rows(folder / "rows.jsonl", rows(is_taught)), folder / f"run_{epochs}"
    settings = config(is_taught, num_train_epochs=epochs)
    return run, finetune(settings, run, file, file, init_checkpoint=start)[1]


def test_a_search_becomes_better(collection, encoder, tmp_path):
    first, _ = train(False, encoder, tmp_path, 0.34)
    run, metrics = train(False, encoder, tmp_path, 30.0)
    before, after = (kbert.evaluate_retrieval(each, *collection)["ndcg_at_10"] for each in (first, run))
    assert after > before + 0.2
    loaded = kbert.load(run)
    assert loaded.vectors == TokenVectorsConfig(
        **loaded.task.get_config()["further_pooling"], normalize=True, query_length=8
    )
    assert (loaded.vectors.width(16), loaded.vectors.query_expansion) == (128, QueryExpansion(8))
    similar = loaded.similarity(loaded.embed(QUERIES, task="query"), loaded.embed(TEXTS, task="document"))
    ranks = 1 + (similar > np.diag(similar)[:, None]).sum(axis=1)
    assert metrics["mrr"] == pytest.approx(np.mean(1 / ranks), abs=0.02)
    convert(run, tmp_path / "folder", "hugging_face")
    for ours, theirs in zip(loaded.embed(TEXTS), kbert.load(tmp_path / "folder").embed(TEXTS), strict=True):
        np.testing.assert_allclose(theirs, ours, atol=2e-5)


@pytest.mark.long
def test_a_teachers_scores_are_learnt(encoder, tmp_path):
    _, first = train(True, encoder, tmp_path, 0.34)
    _, last = train(True, encoder, tmp_path, 30.0)
    assert last["loss"] < first["loss"] - 0.02


def test_training_rows_need_the_scores_that_the_config_names(encoder, tmp_path):
    file = write_rows(tmp_path / "rows.jsonl", rows(False))
    with pytest.raises(ValueError, match="training example 1 has no column 'scores'"):
        finetune(config(True), tmp_path / "run", file, init_checkpoint=encoder)
    assert not (tmp_path / "run").exists()
