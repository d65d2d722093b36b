"""The model of sentence similarity: pooled as `embed` pools, the same packed and padded."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from kbert.cli.warn_once import warn_once
from kbert.config.dense_config import DenseConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.encoder import BertEncoder
from kbert.features import PACKED_POSITIONS
from kbert.files.json_values import shown
from kbert.input_pipelines.packing import pack
from kbert.layers.sequence_pooling import SequencePooling
from kbert.tasks import TASKS
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.similarity.text_groups import TextGroup
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import random_inputs


@pytest.fixture(scope="module")
def encoder():
    return BertEncoder(tiny_encoder_config(num_hidden_layers=1))


@pytest.fixture(scope="module")
def batch(encoder):
    """Five examples of two texts."""
    inputs = random_inputs(encoder.config, 10, 8)
    return {name: value.reshape(5, 2, 8) for name, value in inputs.items()}


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
def test_each_text_is_encoded_and_pooled_on_its_own(encoder, batch, pooling, normalize):
    embeddings = CosineSimilarity(pooling=pooling, normalize=normalize).build_model(encoder)(batch)[
        "embeddings"
    ]
    for place in range(2):
        inputs = {name: value[:, place] for name, value in batch.items()}
        hidden = encoder(inputs)["sequence_output"]
        expected = SequencePooling(pooling, normalize)(hidden, inputs["input_mask"])
        np.testing.assert_allclose(embeddings[:, place], expected, atol=1e-6)


@pytest.mark.parametrize("num_rows", [None, 10])
def test_packed_texts_have_the_same_embeddings(encoder, batch, num_rows):
    """With as many rows as they need, and with fixed rows for XLA."""
    packed = BertEncoder(encoder.config, packed=True)
    packed.set_weights(encoder.get_weights())
    ((_, with_places),) = enumerate(pack(tf.data.Dataset.from_tensors(batch), num_rows))
    rows, length = with_places[PACKED_POSITIONS].shape
    assert rows < 10 or (rows, length) == (10, 8)
    found = CosineSimilarity().build_model(packed)(with_places)["embeddings"]
    np.testing.assert_allclose(found, CosineSimilarity().build_model(encoder)(batch)["embeddings"], atol=1e-5)


PROMPTED = PoolingConfig(
    "cls+mean",
    False,
    20,
    False,
    {"query": 2},
    (DenseConfig(30),),
    prompts={"query": "the ", "none": ""},
    default_prompt_name="query",
    similarity_fn_name="dot",
)


@pytest.mark.parametrize("name", ["cosine_similarity", "multiple_negatives_ranking", "encoder"])
def test_a_task_keeps_what_its_checkpoint_says_of_vectors(name):
    task = TASKS.recorded(TASKS.to_record(TASKS[name]().with_pooling(PROMPTED)))
    assert task.pooling == PROMPTED and task.default_prompt == "the "
    assert TASKS.recorded(TASKS.to_record(task.with_pooling(None))).pooling == PROMPTED
    json.dumps(task.get_config())


@pytest.mark.parametrize("name", ["sparse_embedding", "late_interaction"])
def test_other_vectors_keep_the_prompts(name):
    plain, task = TASKS[name]().with_pooling(None), TASKS[name]().with_pooling(PROMPTED)
    kept = {"prompts": PROMPTED.prompts, "default_prompt_name": "query"}
    assert task.pooling == dataclasses.replace(plain.pooling, **kept) and task.prompts[0] == "the "
    assert TASKS.recorded(TASKS.to_record(task)).pooling == task.pooling
    own = dataclasses.replace(plain.pooling, prompts={"query": "a "})
    again = TASKS[name]().with_pooling(own).with_pooling(PROMPTED)
    assert again.pooling == own


def test_settings_of_a_task_come_before_those_of_its_checkpoint():
    task = CosineSimilarity(pooling="max", normalize=True).with_pooling(PROMPTED)
    assert task.pooling == dataclasses.replace(PROMPTED, mode="max", normalize=True)


@pytest.fixture
def text_inputs():
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "jump", "walk"], True)
    return TextInputs(vocabulary, 6)


def test_the_default_prompt_stands_before_each_text_of_an_example(text_inputs):
    task = CosineSimilarity().with_pooling(PROMPTED)
    examples = task.examples_to_features([TextGroup(("jump", "walk walk"), 1.0)], text_inputs)
    assert examples.features["input_ids"].tolist() == [[[2, 5, 6, 3, 0, 0], [2, 5, 7, 7, 3, 0]]]


def test_ranked_texts_have_the_prompts_of_queries_and_documents(text_inputs, caplog):
    """As sentence-transformers' evaluators of rankings; pairs with a score are encoded alike."""
    groups = [TextGroup(("jump", "jump"), None), TextGroup(("jump", "jump"), 1.0)]
    pooling = PoolingConfig(prompts={"query": "the ", "document": "walk "})
    alone, query, document = [2, 6, 3, 0, 0, 0], [2, 5, 6, 3, 0, 0], [2, 7, 6, 3, 0, 0]

    def ids(**changes):
        task = MultipleNegativesRanking().with_pooling(dataclasses.replace(pooling, **changes))
        return task.examples_to_features(groups, text_inputs).features["input_ids"].tolist()

    assert ids() == [[query, document], [alone, alone]]
    assert ids(default_prompt_name="document") == [[query, document], [document, document]]
    assert ids(include_prompt=False) == [[query, document], [alone, alone]] and not caplog.text
    assert ids(include_prompt=False, prompt_lengths={"query": 2, "document": 2}) == [[alone] * 2] * 2
    assert "the tokens of the model's prompts do not count" in caplog.text


@pytest.mark.parametrize(
    ("prompts", "default", "said"),
    [
        (
            {"s2p_query": "q: ", "s2p_document": "d: "},
            None,
            {"query": ["s2p_query"], "document": ["s2p_document"]},
        ),
        (
            {"s2p_query": "q: ", "query": "", "document": ""},  # as sentence-transformers adds
            None,
            {"query": ["s2p_query"]},
        ),
        ({"query": "q: ", "s2p_document": "d: "}, None, {"document": ["s2p_document"]}),
        ({"query": "q: ", "s2p_passage": "d: "}, "query", {"document": ["s2p_passage"]}),
        ({"a_query": "q: ", "sts": "s: "}, None, {"query": ["a_query"], "document": ["sts"]}),
        ({"s2p_query": "q: "}, "s2p_query", {}),
        (
            {"s2p_query": "q: ", "s2p_document": "d: "},  # the other's prompt, as it is the default
            "s2p_document",
            {"query": ["s2p_query"]},
        ),
        ({"query": "q: ", "sts": "s: "}, None, {}),
        ({"search_query": "q: ", "retrieval.passage": "d: "}, "retrieval.passage", {}),
        ({"query": "q: ", "document": "", "passage": "p: "}, None, {}),
        ({"query": "", "document": ""}, None, {}),
        ({}, None, {}),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_prompts_of_other_names_than_a_task_are_said(prompts, default, said, named, caplog):
    """Also of the task's name where the model has no prompt of it."""
    warn_once.cache_clear()
    pooling = PoolingConfig(prompts=prompts, default_prompt_name=default)
    pooling.prompt_name(None)
    assert not caplog.text
    for task in ("query", "document"):
        caplog.clear()
        if named and task in prompts:
            assert pooling.prompt_name(None, task) == task and not caplog.text
            continue
        pooling.prompt_name(*(None, task) if named else (task, None))
        sentence = f"The model has the prompts {shown(said.get(task))}, but none for a {task}:"
        assert (sentence in caplog.text) == bool(caplog.text) == (task in said)


def test_a_prompt_that_is_not_empty_comes_first():
    """sentence-transformers 5 adds an empty `document` to an E5 that was loaded with its two prompts."""
    pooling = PoolingConfig(prompts={"query": "q: ", "document": "", "passage": "p: "})
    assert pooling.prompt_name("document") == "passage"
    assert pooling.prompt_name(None, "document") == "document"
    pooling = PoolingConfig(prompts={"query": "q: ", "passage": "p: "})
    assert pooling.prompt_name(None, "document") == pooling.prompt_name("document") == "passage"
    assert PoolingConfig(prompts={"query": "q: "}).prompt_name(None, "document") == "document"
    assert PoolingConfig(prompts={"query": "", "passage": ""}).prompt_name("document") == "passage"


@pytest.mark.parametrize("task", ["cosine_similarity", "sparse_embedding"])
@pytest.mark.parametrize("default", [None, "of_a_pair"])
def test_an_answer_without_the_prompts_of_a_model_says_so(task, default, caplog):
    """`rank` and `embed` put them there: two numbers for one pair."""
    warn_once.cache_clear()
    pooling = PoolingConfig(prompts={"of_a_pair": "q: "}, default_prompt_name=default)
    serving = TASKS[task]().with_pooling(pooling).serving
    assert serving.task.pooling is serving.task.pooling  # made once: making it took 0.3 ms of each answer
    for _ in range(2):
        serving.answer({"cosine": 0.5, "indices": [], "weights": []}, {"text": "a", "text_pair": "b"})
    assert caplog.text.count("but the model has of_a_pair: for the vectors that") == (default is None)


def test_tokens_of_the_default_prompt_do_not_count_in_training(encoder, batch):
    task = CosineSimilarity().with_pooling(
        dataclasses.replace(PROMPTED, mode="mean", truncate_dim=None, dense=())
    )
    found = task.build_model(encoder)(batch)["embeddings"][:, 0]
    inputs = {name: value[:, 0] for name, value in batch.items()}
    hidden, mask = encoder(inputs)["sequence_output"], inputs["input_mask"] * (np.arange(8) >= 2)
    np.testing.assert_allclose(found, SequencePooling("mean")(hidden, mask), atol=1e-6)
