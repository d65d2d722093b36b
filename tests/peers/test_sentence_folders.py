"""Folders of all four kinds of sentence-transformers' models: read, and written back, with equal numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import kbert
from kbert import BertEncoder, SequenceRegression
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config.dense_config import DENSE_ACTIVATIONS, DenseConfig
from kbert.layers.vector_dense import VectorDense
from tests.conftest import tiny_encoder_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import GOLDEN
from tests.kbert.runs.written_run import written_run
from tests.peers.families import run_peer
from tests.tfrecords_tools import small_corpus

PEER = Path(__file__).with_name("sentence_folders_peer.py")
MADE = ("modes", "chain", "fixed", "prompt_tokens", "min", "words", "sum")
TEXTS = ["the day", "a b c d e a b c d e", "play. the, a"]


def back(source, folder):
    """The folder that kbert writes of a run that it wrote of a folder."""
    write_checkpoint(read_checkpoint(source), folder / "run", "kbert")
    write_checkpoint(read_checkpoint(folder / "run"), folder / "back", "hugging_face")
    return str(folder / "back")


def dense(vectors):
    return vectors.toarray() if hasattr(vectors, "toarray") else vectors


def difference(model, answers):
    """The largest between what kbert and sentence-transformers answer."""
    if "scores" in answers:
        several = len(model.task.labels) > 1 or None  # whose scores are logits there
        found = model.predict([(TEXTS[0], text) for text in TEXTS], raw_scores=several)
        numbers = [[*row["logits"].values()] if several else row["prediction"] for row in found]
        return np.abs(np.array(numbers) - answers["scores"]).max()
    queries, documents = model.embed(TEXTS, task="query"), model.embed(TEXTS, task="document")
    np.testing.assert_allclose(
        model.similarity(queries, documents), answers["similarity"], rtol=1e-4, atol=1e-4
    )
    ours = {"vectors": model.embed(TEXTS), "queries": queries, "documents": documents}
    return max(
        np.abs(np.asarray(mine) - np.reshape(right, np.shape(mine))).max(initial=0)
        for kind, vectors in ours.items()
        for mine, right in zip(dense(vectors), answers[kind], strict=True)
    )


def learnt_cross_encoder(folder):
    """What kbert writes of a run that would learn from rows with negatives."""
    task = SequenceRegression(takes_pairs=True, has_negatives=True)
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    written_run(folder / "run", task, model, small_corpus.vocabulary())
    write_checkpoint(read_checkpoint(folder / "run"), folder / "model", "hugging_face")
    return folder / "model"


@pytest.mark.slow
def test_folders_are_read_and_written_with_equal_numbers(peers_python, tmp_path):
    weights = foreign_files.random_weights(("pooler", "masked_lm"))
    tensors = foreign_files.hugging_face_names(weights)
    foreign_files.write_hugging_face(
        tmp_path / "base", tensors, "BertForMaskedLM", tokenizer={"do_lower_case": True}
    )
    sources = {kind: tmp_path / kind for kind in MADE}
    made = [
        {"kind": kind, "base": str(tmp_path / "base"), "folder": str(path)} for kind, path in sources.items()
    ]
    run_peer(peers_python, PEER, "make", made, tmp_path)
    sources |= {path.parent.name: path.parent for path in sorted(GOLDEN.glob("*/modules.json"))}
    sources["cross_learnt"] = learnt_cross_encoder(tmp_path / "cross_learnt")
    cases = []
    for kind, path in sources.items():
        is_cross = kind.startswith("cross")
        asks = {"pairs": [[TEXTS[0], text] for text in TEXTS]} if is_cross else {"texts": TEXTS}
        for folder in (str(path), back(path, tmp_path / f"{kind}_back")):
            cases.append({"folder": folder, "answers": str(tmp_path / f"{len(cases)}.json")} | asks)
    run_peer(peers_python, PEER, "answer", cases, tmp_path)
    differences = {}
    for case in cases:
        answers = json.loads(Path(case["answers"]).read_text())
        differences[case["folder"]] = difference(kbert.load(case["folder"]), answers)
    print(differences)
    assert max(differences.values()) < 2e-5


def test_activations_of_dense_layers_are_those_of_torch(peers_python, tmp_path):
    inputs = np.linspace(-7, 7, 200, dtype=np.float32).reshape(20, 10)
    case = {"inputs": inputs.tolist(), "names": DENSE_ACTIVATIONS, "answers": str(tmp_path / "answers.json")}
    run_peer(peers_python, PEER, "activate", [case], tmp_path)
    answers = json.loads((tmp_path / "answers.json").read_text())
    for name in DENSE_ACTIVATIONS:
        layer = VectorDense([DenseConfig(10, name, use_bias=False)])
        layer.build((None, 10))
        layer.layers[0].kernel.assign(np.eye(10))
        np.testing.assert_allclose(layer(inputs), answers[name], atol=2e-6, err_msg=name)
