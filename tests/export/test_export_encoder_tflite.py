"""LiteRT files of an encoder that says how a text becomes one vector, as sentence-transformers folders do."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

import kbert
from export.export_tflite import export_tflite
from kbert.config import DatasetConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.tasks.encoding import Encoding
from tests.conftest import tiny_finetuning_config
from tests.export.without_tensorflow import asked_alone
from tests.kbert.inference.random_model import random_task_model

TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown word", "play " * 40, "ask the looks"]
EMBED = f"print(json.dumps(kbert.load(path).embed({TEXTS}).tolist()))"
RANK = f"print(json.dumps(kbert.load(path).rank({TEXTS[0]!r}, {TEXTS})))"
SCORES = [0.5, 4.0, 1.0, 2.5, 3.0]


def encoder_of_vectors(mode, normalize):
    return random_task_model(Encoding(mode, normalize), own_pooling=PoolingConfig(mode, normalize))


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


@pytest.mark.long  # a conversion
def test_a_file_embeds_as_the_loaded_model(tmp_path, text_file):
    loaded, folder = encoder_of_vectors("cls", False), tmp_path / "litert"
    options = {"eval_file": text_file, "mediapipe": True}
    for overwrite in (False, True):
        report = export_tflite(loaded, folder, ["float32"], (24,), overwrite=overwrite, **options)["float32"]
    file = kbert.load(folder / "model_float32.tflite")
    np.testing.assert_allclose(file.embed(TEXTS), loaded.embed(TEXTS), atol=1e-5)
    assert file.embed(TEXTS[0]).shape == (16,)
    assert asked_alone(folder / "model_float32.tflite", EMBED) == file.embed(TEXTS).tolist()
    alone, ranked = asked_alone(folder / "model_float32.tflite", RANK), loaded.rank(TEXTS[0], TEXTS)
    assert [row["text"] for row in alone] == [row["text"] for row in ranked]
    scores = [[row["score"] for row in rows] for rows in (alone, ranked)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    assert (report["compared_on"], report["num_answers"]) == (f"6 texts of {text_file}", 6)
    assert report["agreement"] == 1.0 and report["metrics"] == {}
    assert 1 - 1e-6 < report["cosine"]["min"] <= report["cosine"]["median"] <= 1 + 1e-6
    about = json.loads((folder / "kbert.json").read_text())
    assert about["task_config"] == {"pooling": "cls", "normalize": False}
    found = report["mediapipe"]
    assert found["task"] == "TextEmbedder" and (found["num_texts"], found["read_alike"]) == (6, 6)
    assert found["cosine"] == report["cosine"]


@pytest.mark.long
def test_a_config_for_pairs_of_texts_measures_the_vectors_on_scores(tmp_path):
    """No head is missing: the cosine of two vectors is the answer to a pair."""
    loaded = encoder_of_vectors("mean", False)
    pairs = zip(TEXTS[:-1], TEXTS[1:], strict=True)
    rows = [f"{one}\t{other}\t{score}\n" for (one, other), score in zip(pairs, SCORES, strict=True)]
    (tmp_path / "dev.tsv").write_text("".join(["a\tb\tscore\n", *rows]))
    config = tiny_finetuning_config(
        task="cosine_similarity",
        dataset=DatasetConfig(text="a", text_pair="b", label="score"),
        task_settings={"highest_score": 5.0},
    )
    options = {"eval_file": tmp_path / "dev.tsv", "config": config}
    report = export_tflite(loaded, tmp_path / "litert", ["float32"], (24,), **options)["float32"]
    vectors = loaded.embed(TEXTS, normalize=True)
    cosines = (vectors[:-1] * vectors[1:]).sum(axis=1)
    assert report["num_answers"] == 10 and report["agreement"] == 1.0
    assert report["metrics"]["spearman"] == pytest.approx(spearmanr(cosines, SCORES).statistic)
    about = json.loads((tmp_path / "litert" / "kbert.json").read_text())
    assert about["task"] == "cosine_similarity"
    assert (about["task_config"]["pooling"], about["task_config"]["normalize"]) == ("mean", False)
