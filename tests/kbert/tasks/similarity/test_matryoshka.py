"""Vectors whose first numbers are vectors: the losses against NumPy, what is refused, how they are cut."""

import numpy as np
import pytest

import kbert
from kbert.config import DatasetConfig
from kbert.encoder import BertEncoder
from kbert.features import TARGET_FEATURE
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.matryoshka import require_dims
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from tests.conftest import mostly_long, tiny_encoder_config, tiny_finetuning_config
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import golden
from tests.kbert.experiments.small_rows import write_scored
from tests.kbert.tasks.similarity.test_in_batch_loss import case, reference, require_replicas_add_up
from tests.kbert.tasks.test_losses import evaluate
from tests.kbert.tasks.test_task_model import make_batch

pytestmark = pytest.mark.usefixtures("eager")

DIMS = (5, 2, 1)


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_the_loss_of_cosines_is_the_sum_over_all_lengths():
    outputs, batch = case(2, scores=[0.1, 0.2, 0.9, 1, 0, 0.5])
    errors = []
    for dimensions in DIMS:
        first, second = np.moveaxis(units(outputs["embeddings"][..., :dimensions].astype(np.float64)), 1, 0)
        errors.append(np.mean((np.sum(first * second, axis=-1) - batch[TARGET_FEATURE]) ** 2))
    task = CosineSimilarity(matryoshka_dims=DIMS)
    assert evaluate(task, outputs, batch)["loss"] == pytest.approx(sum(errors), rel=1e-5)
    whole = CosineSimilarity().baseline([batch], None)["baseline_loss"]
    assert task.baseline([batch], None)["baseline_loss"] == pytest.approx(3 * whole)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_loss_of_in_batch_negatives_is_the_sum_over_all_lengths(symmetric):
    outputs, batch = case(3)
    task = MultipleNegativesRanking(num_negatives=1, symmetric=symmetric, matryoshka_dims=DIMS)
    metrics = evaluate(task, outputs, batch)
    losses = [reference(outputs["embeddings"][..., :dimensions], 20.0, symmetric)[0] for dimensions in DIMS]
    assert metrics["loss"] == pytest.approx(sum(losses), rel=1e-5)
    whole = reference(outputs["embeddings"], 20.0, symmetric)[1]
    assert metrics["batch_accuracy"] == pytest.approx(whole)


def test_the_parts_of_two_replicas_add_up_to_the_whole():
    require_replicas_add_up(MultipleNegativesRanking(num_negatives=1, matryoshka_dims=DIMS), *case(3))


@pytest.mark.parametrize(
    ("dims", "sentence"),
    [
        ([4, 4], r"matryoshka_dims=\[4, 4\] has a number twice"),
        ([4, 0], "matryoshka_dims=0 should be a whole number from 1 on"),
        ([8, 17], "matryoshka_dims=17 should be a whole number from 1 to 16, the width of the vectors"),
    ],
)
def test_lengths_that_vectors_do_not_have_are_refused_before_a_run(dims, sentence, tmp_path, pretraining_run):
    config = tiny_finetuning_config(
        task="cosine_similarity",
        dataset=DatasetConfig(text_pair="other"),
        task_settings={"matryoshka_dims": dims, "highest_score": 5.0},
    )
    file = write_scored(tmp_path / "rows.jsonl", 16)
    with pytest.raises(ValueError, match=sentence):
        kbert.finetune(config, tmp_path / "run", file, init_checkpoint=pretraining_run.path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", [CosineSimilarity, MultipleNegativesRanking])
def test_lengths_that_vectors_do_not_have_are_refused_in_fit(task):
    model = task(matryoshka_dims=(8, 17)).build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=1)))
    model.compile("sgd")
    with pytest.raises(ValueError, match="matryoshka_dims=17 should be .* 1 to 16, the width of the vectors"):
        model.fit(make_batch("cosine_similarity", model.encoder.config), verbose=0)


@pytest.mark.parametrize("name", mostly_long(["dense_tanh", "lasttoken", "cut_to_8"], ("cut_to_8",)))
def test_vectors_are_cut_and_scaled_where_whole_ones_are(name):
    source, expected = golden(name)
    loaded, texts = kbert.load(source), expected["texts"]
    whole = loaded.embed(texts)
    cut = whole[:, :5]
    right = units(cut) if loaded.vectors.normalize else cut
    np.testing.assert_allclose(loaded.embed(texts, dimensions=5), right, atol=1e-6)
    np.testing.assert_allclose(loaded.embed(texts[0], dimensions=np.int64(5)), right[0], atol=1e-5)
    plain = loaded.embed(texts, normalize=False)[:, :5]
    np.testing.assert_allclose(loaded.embed(texts, normalize=False, dimensions=5), plain, atol=1e-6)
    np.testing.assert_allclose(loaded.embed(texts, normalize=True, dimensions=5), units(plain), atol=1e-5)
    for dimensions in (0, whole.shape[1] + 1):
        with pytest.raises(ValueError, match=f"dimensions={dimensions} should be .* to {whole.shape[1]}, "):
            loaded.embed(texts, dimensions=dimensions)


@pytest.mark.parametrize("name", ["colbert", "splade_max"])
def test_vectors_of_other_kinds_are_not_cut(name):
    loaded = kbert.load(golden(name)[0])
    with pytest.raises(ValueError, match="dimensions are of one vector for each text"):
        loaded.embed("a", dimensions=4)


def test_whole_vectors_that_are_not_trained_are_said(caplog):
    require_dims((8, 32), 32)
    require_dims((), 32)
    assert not caplog.text
    require_dims((8, 16), 32)
    assert "matryoshka_dims=[8, 16]: the vectors have 32 numbers, and those after the first 16" in caplog.text
