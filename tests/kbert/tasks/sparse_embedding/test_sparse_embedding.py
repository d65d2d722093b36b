"""Sparse vectors: sentence-transformers' numbers, the formula from the masked-LM logits, and gradients."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import sparse

import kbert
from kbert import BertEncoder
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.tasks import TASKS
from kbert.tasks.similarity.vectors import text_embeddings
from kbert.tasks.sparse_embedding.sparse_serving import MOST_WORDS
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import edit, golden, hops, list_modules

pytestmark = pytest.mark.usefixtures("eager")

TEXTS = ["the day", "a b c d e", ""]


@pytest.fixture
def folder(tmp_path):
    """A small folder of an MLMTransformer and a SpladePooling."""
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(("masked_lm",)))
    tokenizer = {"do_lower_case": True}
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, "BertForMaskedLM", tokenizer=tokenizer)
    list_modules(folder, "MLMTransformer", "SpladePooling")
    edit(folder / "1_SpladePooling" / "config.json", pooling_strategy="max", word_embedding_dimension=None)
    edit(folder / "config_sentence_transformers.json", model_type="SparseEncoder", prompts={"query": "a "})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(["splade_max", "splade_sum_log1p"], ("splade_sum_log1p",)))
def test_vectors_are_those_of_sentence_transformers(name, tmp_path):
    source, expected = golden(name)
    for model in hops(kbert.load(source), tmp_path):
        queries, documents = model.embed(expected["queries"], task="query"), model.embed(expected["texts"])
        assert isinstance(documents, sparse.csr_array)
        np.testing.assert_allclose(queries.toarray(), expected["query_vectors"], atol=2e-5)
        np.testing.assert_allclose(documents.toarray(), expected["documents"], atol=2e-5)
        found = model.similarity(queries, documents)
        np.testing.assert_allclose(found, expected["similarity"], rtol=2e-6)
    ranked = model.rank(expected["queries"][0], expected["texts"])
    assert [row["index"] for row in ranked] == np.argsort(-found[0]).tolist()
    for words, right in zip(model.decode(documents, 5), expected["decoded"], strict=False):
        assert words == [(word, pytest.approx(weight, abs=2e-5)) for word, weight in right]


@pytest.mark.parametrize(("pooling", "activation"), [("max", "relu"), ("sum", "log1p_relu")])
def test_weights_follow_the_formula_and_padding_has_none(folder, pooling, activation):
    edit(folder / "1_SpladePooling" / "config.json", pooling_strategy=pooling, activation_function=activation)
    loaded, masked = kbert.load(folder), kbert.load(folder, allow_unmatched="modules.json")
    expected = []
    for text in TEXTS:
        inputs = masked.inputs([text])
        everywhere = tf.range(inputs["input_ids"].shape[1])[None]
        logits = masked.model(inputs | {"masked_lm_positions": everywhere})["masked_lm_logits"][0]
        words = np.log1p(np.maximum(logits, 0))
        words = np.log1p(words) if activation == "log1p_relu" else words
        expected.append(words.max(axis=0) if pooling == "max" else words.sum(axis=0))
    vectors, alone = loaded.embed(TEXTS), loaded.embed(TEXTS[0])
    np.testing.assert_allclose(vectors.toarray(), expected, atol=1e-5)
    scores = loaded.similarity(alone, vectors)
    np.testing.assert_allclose(loaded.similarity(alone.toarray(), np.array(expected)), scores, rtol=1e-4)
    assert loaded.similarity([], vectors).shape == (0, len(TEXTS))
    assert alone.shape == (len(expected[0]),)
    np.testing.assert_allclose(alone.toarray(), expected[0], atol=1e-5)
    assert loaded.decode(alone) == loaded.decode(loaded.embed(TEXTS[:1]))[0]
    listed, whole = [alone, loaded.embed(TEXTS[1])], vectors[:2]
    np.testing.assert_allclose(loaded.similarity(listed, whole), loaded.similarity(whole, whole), rtol=1e-4)
    assert [[word for word, _ in words[:1]] for words in loaded.decode(listed)] == [
        [word for word, _ in words[:1]] for words in loaded.decode(whole.toarray().tolist())
    ]
    assert loaded.embed([]).shape == (0, len(expected[0]))


@pytest.mark.parametrize("pooling", ["max", "sum"])
def test_answers_in_blocks_are_those_of_the_trained_model(folder, pooling, monkeypatch):
    edit(folder / "1_SpladePooling" / "config.json", pooling_strategy=pooling)
    loaded, rough = kbert.load(folder), kbert.load(folder, precision="bfloat16")
    inputs = {name: np.array(rows) for name, rows in loaded.inputs([*TEXTS, "b c", "e"]).items()}
    inputs["input_mask"][1, 2] = 0  # wherever the padding stands
    expected = text_embeddings(loaded.model, inputs)
    for tokens in (1, 12, 512):
        monkeypatch.setattr("kbert.heads.sparse_head._TOKENS_AT_ONCE", tokens)
        np.testing.assert_allclose(text_embeddings(loaded.answering_model, inputs), expected, atol=1e-5)
        found = text_embeddings(rough.answering_model, inputs)
        np.testing.assert_allclose(found, expected, atol=0.05, rtol=0.05)
        assert np.any(found != expected)


def test_the_largest_weights_alone(folder):
    every = kbert.load(folder).embed(TEXTS).toarray()
    edit(folder / "config_sentence_transformers.json", max_active_dims=4)
    least = np.sort(every, axis=1)[:, [-4]]
    np.testing.assert_allclose(kbert.load(folder).embed(TEXTS).toarray(), np.where(every < least, 0, every))


def test_a_query_has_its_prompt(folder):
    loaded = kbert.load(folder)
    asked, plain = loaded.embed(["b"], task="query"), loaded.embed(["a b"])
    assert (asked != plain).nnz == 0 and (loaded.embed(["b"], task="document") != asked).nnz
    with pytest.raises(ValueError, match="task='query' and prompt_name='query' both choose a prompt"):
        loaded.embed(["b"], task="query", prompt_name="query")
    with pytest.raises(ValueError, match="task='question' is not known; choose one of query, document"):
        loaded.embed(["b"], task="question")
    with pytest.raises(ValueError, match="pooling, normalize and dimensions are of one vector"):
        loaded.embed(["b"], normalize=True)


def test_gradients_in_training_are_those_of_the_formula():
    """In training the logits are computed again for the gradient; outside TensorFlow keeps them."""
    encoder = BertEncoder(dataclasses.replace(tiny_encoder_config(), hidden_dropout_prob=0.0))
    model = TASKS["sparse_embedding"]().build_model(encoder)
    head, generator = model.get_layer("masked_lm"), np.random.default_rng(3)
    states = tf.constant(generator.standard_normal((3, 5, encoder.config.hidden_size)), tf.float32)
    mask = tf.constant([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]])

    @tf.function
    def gradients(training):
        with tf.GradientTape() as tape:
            tape.watch(states)
            loss = tf.reduce_sum(head(states, mask, training=training) ** 2)
        variables = [v for v in head.trainable_variables if "masked_lm" in v.path]
        variables.append(encoder.embeddings.word_embeddings)
        return tape.gradient(loss, [states, *(variable.value for variable in variables)])

    for in_training, plain in zip(gradients(True), gradients(False), strict=True):
        in_training, plain = map(tf.convert_to_tensor, (in_training, plain))
        np.testing.assert_allclose(in_training, plain, atol=1e-4)
        assert np.abs(plain).max() > 0


def test_what_does_not_fit_is_named(folder, tmp_path):
    checkpoint = read_checkpoint(folder)
    assert (
        TASKS.recorded(checkpoint.task_record).pooling
        == checkpoint.pooling
        == SparsePoolingConfig(prompts={"query": "a "})
    )
    with pytest.raises(ValueError, match="=task"):
        write_checkpoint(checkpoint, tmp_path / "google", "google", ["hidden_act"])
    edit(folder / "1_SpladePooling" / "config.json", embedding_dimension=7)
    with pytest.raises(ValueError, match="makes vectors of 7 numbers of each token's, but its encoder gives"):
        read_checkpoint(folder)
    edit(folder / "1_SpladePooling" / "config.json", embedding_dimension=None, activation_function="gelu")
    with pytest.raises(ValueError, match="activation='gelu' is not known; choose one of relu, log1p_relu"):
        read_checkpoint(folder)
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["BertModel"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError):
        read_checkpoint(folder)


def test_the_model_is_saved_and_loaded_by_keras(tmp_path):
    model = TASKS["sparse_embedding"](pooling="sum").build_model(BertEncoder(tiny_encoder_config()))
    ids = np.ones((2, 1, 4), np.int32)
    batch = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(batch)["embeddings"], model(batch)["embeddings"], atol=1e-6)


def test_an_export_that_cuts_words_off_says_so():
    weights = np.ones((3, MOST_WORDS), np.float32)
    weights[:2, -1] = 0
    serving = TASKS["sparse_embedding"]().serving
    assert "texts with 1,024 words or more" in serving.incomplete({"weights": weights})
    assert serving.incomplete({"weights": weights[:2]}) is None
    assert serving.incomplete({"weights": weights[2:, :900]}) is None
    limited = TASKS["sparse_embedding"]({"max_active_dims": MOST_WORDS}).serving
    assert limited.incomplete({"weights": weights}) is None
