"""ColBERT and SPLADE are trained from an encoder alone: what they have learnt finds the right texts."""

import itertools
import json

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


def test_a_teachers_scores_are_learnt(encoder, tmp_path):
    _, first = train(True, encoder, tmp_path, 0.34)
    _, last = train(True, encoder, tmp_path, 30.0)
    assert last["loss"] < first["loss"] - 0.02


def test_training_rows_need_the_scores_that_the_config_names(encoder, tmp_path):
    file = write_rows(tmp_path / "rows.jsonl", rows(False))
    with pytest.raises(ValueError, match="training example 1 has no column 'scores'"):
        finetune(config(True), tmp_path / "run", file, init_checkpoint=encoder)
    assert not (tmp_path / "run").exists()


ANSWER = dict(zip(WORDS, WORDS[3:] + WORDS[:3], strict=True))  # no query has a word of its text
BY_CHANCE = np.mean([1 / np.log2(1 + rank) if rank <= 10 else 0 for rank in range(1, 29)])  # nDCG@10


def write_collection(folder):
    """Two words ask for the two that answer them: rows to train on, corpus, queries and judgments."""
    pairs = [(a, b) for a in WORDS for b in WORDS if a < b]
    texts = [f"{ANSWER[a]} and {ANSWER[b]}" for a, b in pairs]
    rows = [
        {"text": f"{a} {b}", "text_pair": texts[n], "negative_1": texts[n - 7], "scores": [9.0, -9.0]}
        for n, (a, b) in enumerate(pairs)
    ]
    corpus = [{"_id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    queries = [{"_id": f"q{n}", "text": row["text"]} for n, row in enumerate(rows)]
    judged = [f"q{n}\td{n}\t1" for n in range(len(rows))]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    tables = {"rows": rows, "corpus": corpus, "queries": queries}
    files = [write_rows(folder / f"{name}.jsonl", table) for name, table in tables.items()]
    return *files, folder / "qrels.tsv"


@pytest.mark.parametrize("scores", [None, "scores"])
def test_a_short_training_of_words_finds_the_right_texts(tmp_path, scores):
    rows, *files = write_collection(tmp_path)
    keras.utils.set_random_seed(1)
    vocabulary, masked_lm = small_corpus.vocabulary(), TASKS["masked_lm"]()
    encoder = BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary)))
    start = written_run(tmp_path / "start", masked_lm, masked_lm.build_model(encoder), vocabulary)
    config = tiny_finetuning_config(
        task="sparse_embedding",
        dataset=DatasetConfig(text="text", text_pair="text_pair", negatives=("negative_1",), scores=scores),
        num_train_epochs=60.0,
        train_batch_size=7,
        dropout_prob=0.0,
        task_settings={"lambda_q": 0.001, "lambda_d": 0.001},
    )
    _, metrics = finetune(config, tmp_path / "run", rows, rows, init_checkpoint=start.path)
    model = kbert.load(tmp_path / "run")
    judged = kbert.evaluate_retrieval(model, *files)["ndcg_at_10"]
    # A teacher's margins are about the negatives of a row alone.
    assert judged > (1.2 if scores else 3) * BY_CHANCE, (judged, metrics)
    assert metrics["triplet_accuracy"] > 0.8
    assert 0 < metrics["query_words"] < len(vocabulary) and 0 < metrics["document_words"] < len(vocabulary)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert all(np.isfinite(json.loads(line).get("document_flops", 0)) for line in lines)
    convert(tmp_path / "run", tmp_path / "folder", "hugging_face")
    vectors, back = (loaded.embed([*WORDS]) for loaded in (model, kbert.load(tmp_path / "folder")))
    np.testing.assert_allclose(back.toarray(), vectors.toarray(), atol=1e-5)
    assert model.decode(vectors, top_k=2)[0] == model.decode(vectors[0])[:2]
