"""What answers is what was trained: every task, every activation, any mask; and it follows its weights."""

from collections import Counter
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.util._pywrap_util_port import IsMklEnabled

from kbert.config import ACTIVATIONS, LoraConfig
from kbert.encoder import BertEncoder
from kbert.inference.answering_encoder import AnsweringEncoder, answering_model
from kbert.layers import real_tokens, self_attention
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.tasks.test_task_model import NAMES, features, make_batch, make_task
from tests.kbert.test_encoder import MODERN, MPNET, ROBERTA, random_inputs, randomize

CPUINFO = Path("/proc/cpuinfo")
NEEDS_AVX512 = pytest.mark.skipif(
    not CPUINFO.is_file() or "avx512f" not in CPUINFO.read_text(encoding="utf-8"),
    reason="FUSED OPS IN BFLOAT16 NOT CHECKED: oneDNN has none on processors without AVX512",
)


def random_classifier(**settings):
    model = SequenceClassification(("a", "b", "c")).build_model(
        BertEncoder(tiny_encoder_config(**{"num_hidden_layers": 2} | settings))
    )
    randomize(model)
    return model


def answers(model, inputs):
    """In a graph, since grappler fuses ops there alone."""
    return tf.function(lambda given: model(given, training=False))(inputs)


def with_odd_masks(inputs):
    """Padding at the end, in the middle and at the first place; and a row of nothing else."""
    mask = np.ones_like(inputs["input_mask"])
    mask[0, 3:] = 0
    mask[1, 2:4] = 0
    mask[2, 0] = 0
    mask[3] = 0
    return inputs | {"input_mask": mask}


@pytest.mark.parametrize("name", mostly_long(NAMES, ("question_answering", "sequence_classification")))
def test_a_task_answers_as_it_was_trained(name):
    config = tiny_encoder_config(num_hidden_layers=2)
    model = make_task(name).build_model(BertEncoder(config))
    randomize(model)
    inputs = features(model, make_batch(name, config))
    if "masked_lm_positions" in inputs:  # what stands at padding is no one's answer
        inputs["masked_lm_positions"] %= inputs["input_mask"].sum(axis=-1, keepdims=True)
    expected, found = model(inputs, training=False), answers(answering_model(model), inputs)
    assert found.keys() == expected.keys()
    real = inputs["input_mask"] > 0
    for output, theirs in expected.items():
        ours, theirs = found[output].numpy(), theirs.numpy()
        if theirs.shape[: real.ndim] == real.shape:  # one for each token: at padding it may be anything
            ours, theirs = ours[real], theirs[real]
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("hidden_act", "layer_norm_eps"),
    list(zip(ACTIVATIONS, [1e-12, 1e-3, 1e-12, 1e-3, 1e-12], strict=True)),
)
def test_layers_and_masks_of_any_kind(hidden_act, layer_norm_eps):
    settings = {
        "hidden_act": hidden_act,
        "layer_norm_eps": layer_norm_eps,
        "pooler_hidden_act": hidden_act,
        "embedding_size": 6 if layer_norm_eps == 1e-3 else None,
    }
    others = {"relu": MPNET, "tanh": ROBERTA, "gelu_erf": MODERN | {"num_hidden_layers": 4}}
    shape = {"num_hidden_layers": 2} | settings | others.get(hidden_act, {})
    config = tiny_encoder_config(**shape)
    encoder = BertEncoder(config, outputs=("sequence_output", "hidden_states", "pooled_output"))
    randomize(encoder)
    # Small embeddings: a norm with another epsilon would show.
    encoder.embeddings.word_embeddings.assign(encoder.embeddings.word_embeddings * 0.02)
    # Long enough for local attention to be computed in blocks.
    inputs = with_odd_masks(random_inputs(config, 5, 15))
    expected = encoder(inputs, training=False)
    found = answers(AnsweringEncoder(encoder, outputs=tuple(encoder.output)), inputs)
    real = inputs["input_mask"] > 0
    pairs = [(found["sequence_output"], expected["sequence_output"])]
    pairs += zip(found["hidden_states"], expected["hidden_states"], strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.numpy()[real], theirs.numpy()[real], atol=1e-5)
        assert not ours.numpy()[~real].any()
    begins = real[:, 0]
    np.testing.assert_allclose(
        found["pooled_output"].numpy()[begins], expected["pooled_output"].numpy()[begins], atol=1e-5
    )


@pytest.mark.long
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_modernbert_that_reads_one_vector(pooling):
    """With "cls" its last layer computes first tokens only; here it is one with local attention."""
    model = random_classifier(**MODERN | {"classifier_pooling": pooling, "num_hidden_layers": 2})
    inputs = with_odd_masks(random_inputs(model.encoder.config, 5, 15))
    expected, found = (answers(m, inputs)["logits"].numpy() for m in (model, answering_model(model)))
    begins = inputs["input_mask"][:, 0] > 0
    np.testing.assert_allclose(found[begins], expected[begins], atol=1e-5)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if "pooler" in {p.name for p in make_task(name).parts}]
)
def test_no_task_computes_tokens_that_nobody_reads(name):
    answering = answering_model(make_task(name).build_model(BertEncoder(tiny_encoder_config())))
    reads_tokens = any(part.reads == "masked_positions" for part in make_task(name).parts)
    assert set(answering.encoder.outputs) == {"pooled_output", *["sequence_output"] * reads_tokens}


def test_a_compiled_model_answers_with_metrics_that_cannot_be_read_back():
    model = random_classifier(num_hidden_layers=1)
    inputs = random_inputs(model.encoder.config, 3, 7)
    expected = answering_model(model)(inputs)["logits"]
    model.compile(keras.optimizers.AdamW(), metrics={"probabilities": [lambda y, p: p[0]], "logits": []})
    answering = answering_model(model)
    np.testing.assert_array_equal(answering(inputs)["logits"], expected)
    assert not answering.compiled and set(answering.output) == set(model.output)


def test_bfloat16_is_near_and_answers_in_float32():
    model = random_classifier(embedding_size=6, num_hidden_layers=1)
    inputs = random_inputs(model.encoder.config, 6, 9)
    expected, found = (answers(m, inputs)["logits"] for m in (model, answering_model(model, "bfloat16")))
    assert found.dtype == "float32"
    difference = np.abs(found.numpy() - expected.numpy()).max()
    assert 0 < difference < 0.05 * np.abs(expected.numpy()).max() + 0.05


@pytest.mark.slow
def test_it_follows_the_weights_of_the_model():
    model = random_classifier(num_hidden_layers=1)
    answering, inputs = answering_model(model), random_inputs(model.encoder.config, 3, 7)
    run = tf.function(lambda given: (answering(given)["logits"], model(given, training=False)["logits"]))
    after = run(inputs)[0].numpy()
    for variable in model.trainable_variables:
        before = after
        variable.assign(variable * 1.5 + 0.1)
        after, expected = (logits.numpy() for logits in run(inputs))
        np.testing.assert_allclose(after, expected, atol=1e-5)
        seen_by_none = "key/bias" in variable.path or "position" in variable.path  # the same for all places
        assert seen_by_none or np.abs(after - before).max() > 1e-6, variable.path
    known = {id(variable) for variable in model.variables}
    assert all(id(variable) in known for variable in answering.variables)


@pytest.mark.skipif(not IsMklEnabled(), reason="FUSED OPS NOT CHECKED: TensorFlow does not use oneDNN here")
@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=NEEDS_AVX512)])
def test_products_are_fused_and_norms_are_not(precision):
    """As a server does it: grappler decides for a session's graph."""
    answering = answering_model(random_classifier(hidden_act="gelu_erf"), precision)
    inputs = random_inputs(tiny_encoder_config(), 3, 7)
    specs = {name: tf.TensorSpec((None, None), "int32", name=name) for name in inputs}
    function = tf.function(lambda given: answering(given)["logits"]).get_concrete_function(specs)
    definition = frozen(function)
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
    with tf.compat.v1.Session(graph=graph) as session:
        metadata = tf.compat.v1.RunMetadata()
        session.run(
            function.structured_outputs.name,
            {f"{name}:0": value for name, value in inputs.items()},
            options=tf.compat.v1.RunOptions(output_partition_graphs=True),
            run_metadata=metadata,
        )
    nodes = [node for part in metadata.partition_graphs for node in part.node]
    fused = Counter(tuple(node.attr["fused_ops"].list.s) for node in nodes if "fused_ops" in node.attr)
    assert fused[b"BiasAdd", b"GeluExact"] == 2
    # In the last layer, where first tokens are alone, grappler cannot tell that the shapes are the same.
    assert fused[b"BiasAdd", b"Add"] == 2
    assert not [node.op for node in nodes if "LayerNorm" in node.op or "Transpose" in node.op]


def frozen(function):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    return convert_variables_to_constants_v2(function).graph.as_graph_def()


@pytest.mark.parametrize("arguments", [{"dtype": "mixed_bfloat16"}, {"packed": True}, {"lora": LoraConfig()}])
def test_encoders_for_training_are_refused(arguments):
    with pytest.raises(ValueError, match="in float32 that is not packed and has no adapters"):
        AnsweringEncoder(BertEncoder(tiny_encoder_config(), **arguments))


@pytest.mark.parametrize(("precision", "atol"), [("float32", 1e-5), ("bfloat16", 0.1)])
def test_long_texts_are_answered_as_short_ones_are(precision, atol, monkeypatch):
    """Example by example, some queries at a time: no length and no padding makes a difference."""
    shape = MODERN | {"max_position_embeddings": 1024, "num_hidden_layers": 4}
    encoder = BertEncoder(tiny_encoder_config(**shape), outputs=("sequence_output",))
    randomize(encoder)
    inputs = with_odd_masks(random_inputs(encoder.config, 9, 23))
    inputs["input_mask"][6:] *= np.arange(23) < np.array([[4], [1], [9]])  # these share rows
    with_empty = random_inputs(encoder.config, 2, 23)  # whose row lies behind the last one with tokens
    with_empty["input_mask"] = np.int32([[1] * 23, [0] * 23])
    answering = AnsweringEncoder(encoder, precision, ("sequence_output",))
    expected = [answers(answering, batch)["sequence_output"] for batch in (inputs, with_empty)]
    monkeypatch.setattr(self_attention, "_QUERIES_AT_ONCE", 4)
    monkeypatch.setattr(real_tokens, "LONG", 22)
    for batch, wanted in zip((inputs, with_empty), expected, strict=True):
        np.testing.assert_allclose(answers(answering, batch)["sequence_output"], wanted, atol=atol)
