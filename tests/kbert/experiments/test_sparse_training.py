"""SPLADE is trained on rows with hard negatives; what it has learnt finds the right texts of a collection."""

import json

import keras
import numpy as np
import pytest

import kbert
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DatasetConfig
from kbert.encoder import BertEncoder
from kbert.experiments.finetuning import finetune
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.experiments.small_rows import WORDS, write_rows
from tests.kbert.runs.written_run import written_run
from tests.tfrecords_tools import small_corpus

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


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("scores", [None, "scores"])
def test_a_short_training_finds_the_right_texts(tmp_path, scores):
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
    write_checkpoint(read_checkpoint(tmp_path / "run"), tmp_path / "folder", "hugging_face")
    vectors, back = (loaded.embed([*WORDS]) for loaded in (model, kbert.load(tmp_path / "folder")))
    np.testing.assert_allclose(back.toarray(), vectors.toarray(), atol=1e-5)
    assert model.decode(vectors, top_k=2)[0] == model.decode(vectors[0])[:2]
