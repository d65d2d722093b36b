"""The encoder against independent references, and the properties that make it BERT."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.config import EncoderConfig
from kbert.encoder import ENCODER_OUTPUTS, BertEncoder
from kbert.features import ENCODER_INPUTS, PACKED_POSITIONS
from kbert.tasks import TASKS
from kbert.tasks.pretraining.objectives import Pretraining
from tests.conftest import tiny_encoder_config
from tests.kbert import reference_bert

ROBERTA = {"type_vocab_size": 1}
MPNET = {"type_vocab_size": 0, "relative_attention_num_buckets": 8}
# ModernBERT's options, first without and last with all.
ROTARY = {"global_rope_theta": 50.0, "local_rope_theta": 20.0}
LOCAL = {"local_attention": 4, "global_attn_every_n_layers": 2}
NO_BIASES = dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), False)
MODERN = {
    "type_vocab_size": 0,
    "normalize_first": True,
    "is_gated_act": True,
    "hidden_act": "gelu_erf",
    "pooler_hidden_act": "gelu_erf",
    **NO_BIASES,
    **ROTARY,
    **LOCAL,
}


def random_inputs(config, batch=4, length=12, seed=0):
    """Rows of different lengths, ids everywhere (under the padding too), two segments."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, length + 1, size=batch)
    lengths[0] = length
    mask = (np.arange(length)[None] < lengths[:, None]).astype(np.int32)
    segments = (np.arange(length)[None] >= lengths[:, None] // 2).astype(np.int32) * mask
    ids = rng.integers(0, config.vocab_size, size=(batch, length)).astype(np.int32)
    return {"input_ids": ids, "input_mask": mask, "segment_ids": segments}


def randomize(model, seed=1):
    """Random numbers everywhere: fresh biases are 0 and fresh scales 1, which would hide a mistake."""
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        shift = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(shift + rng.normal(scale=0.3, size=variable.shape))
    return {variable.path: variable.numpy() for variable in model.trainable_variables}


@pytest.fixture(scope="module")
def encoder():
    encoder = BertEncoder(tiny_encoder_config())
    randomize(encoder)
    return encoder


# ---------------------------------------------------------------------------------- references


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_act": "gelu"},
        {"hidden_act": "gelu_erf", "pooler_hidden_act": "gelu_erf", "embedding_size": 6},
        {"hidden_act": "relu", "pooler_hidden_act": "relu", "embedding_size": 20},
        ROBERTA,
        MPNET,
        {"normalize_first": True, "classifier_pooling": "mean"},
        {"is_gated_act": True, "mlp_bias": False},
        NO_BIASES | {"num_hidden_layers": 1},
        LOCAL,
        {"global_rope_theta": 10.0},
        MODERN | {"num_hidden_layers": 4, "classifier_pooling": "mean"},
    ],
    ids=str,
)
def test_encoder_equals_the_numpy_reference(settings):
    config = tiny_encoder_config(
        **{"num_hidden_layers": 2, "type_vocab_size": 3, "num_attention_heads": 4} | settings
    )
    encoder = BertEncoder(config)
    weights = randomize(encoder)
    inputs = random_inputs(config)
    outputs = encoder(inputs, training=False)
    sequence_output, pooled_output = reference_bert.encode(weights, inputs, config)
    # With local attention padding may see nothing but padding.
    compared = inputs["input_mask"] > 0 if config.local_attention else ...
    np.testing.assert_allclose(
        outputs["sequence_output"].numpy()[compared], sequence_output[compared], atol=1e-5
    )
    np.testing.assert_allclose(outputs["pooled_output"], pooled_output, atol=1e-5)


def test_pretraining_model_equals_the_numpy_reference():
    config = tiny_encoder_config(num_hidden_layers=2)
    model = Pretraining().build_model(BertEncoder(config))
    weights = randomize(model)
    inputs = random_inputs(config) | {"masked_lm_positions": np.array([[1, 5], [0, 0], [2, 1], [3, 1]])}
    outputs = model(inputs, training=False)
    masked_lm, next_sentence = reference_bert.pretraining_logits(weights, inputs, config)
    np.testing.assert_allclose(outputs["masked_lm_logits"], masked_lm, atol=1e-5)
    np.testing.assert_allclose(outputs["next_sentence_logits"], next_sentence, atol=1e-5)


# ------------------------------------------------------------------------------ hidden and attention


def test_hidden_states_and_attention_equal_the_numpy_reference():
    config = tiny_encoder_config(num_hidden_layers=3, num_attention_heads=4)
    encoder = BertEncoder(config, outputs=ENCODER_OUTPUTS)
    weights = randomize(encoder)
    inputs = random_inputs(config)
    outputs = encoder(inputs, training=False)
    hidden_states, attentions = reference_bert.encode_all(weights, inputs, config)
    assert len(outputs["hidden_states"]) == 4 and len(outputs["attention_probabilities"]) == 3
    for ours, theirs in zip(outputs["hidden_states"], hidden_states, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    padding = np.broadcast_to(inputs["input_mask"][:, None, None] == 0, (4, 4, 12, 12))
    for ours, theirs in zip(outputs["attention_probabilities"], attentions, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        assert np.all(ours.numpy()[padding] == 0.0)
    np.testing.assert_array_equal(outputs["sequence_output"], outputs["hidden_states"][-1])


def test_an_encoder_with_other_outputs_shares_the_weights(encoder):
    inputs = random_inputs(encoder.config)
    deep = encoder.with_outputs("hidden_states", "attention_probabilities")
    variables = {v.path: v for v in encoder.trainable_variables if "pooler" not in v.path}
    assert [v.path for v in deep.trainable_variables] == list(variables)
    assert all(variable is variables[variable.path] for variable in deep.trainable_variables)
    before = encoder(inputs)["sequence_output"]
    np.testing.assert_array_equal(deep(inputs)["hidden_states"][-1], before)
    kernel = encoder.blocks[0].attention.query.kernel
    old = kernel.numpy()
    kernel.assign(-old)
    assert np.abs(deep(inputs)["hidden_states"][-1] - before).max() > 1e-3
    kernel.assign(old)
    assert encoder.with_outputs("pooled_output", "sequence_output") is encoder


def test_an_encoder_without_pooler_has_no_weight_without_gradient():
    config = tiny_encoder_config(num_hidden_layers=2)
    whole = {v.path for v in BertEncoder(config).trainable_variables}
    for encoder in (
        BertEncoder(config, outputs="sequence_output"),
        BertEncoder(config).with_outputs("sequence_output"),
    ):
        names = [v.path for v in encoder.trainable_variables]
        assert whole - set(names) == {"pooler/dense/kernel", "pooler/dense/bias"}
        assert list(encoder.output) == ["sequence_output"] and encoder.pooler is None
    with pytest.raises(ValueError, match='this encoder has no pooler; build it with "pooled_output"'):
        encoder.with_outputs("pooled_output")
    with pytest.raises(ValueError, match="must be one or more of sequence_output"):
        encoder.with_outputs(["sequence_output"])


@pytest.mark.parametrize("settings", [MPNET, MODERN, {}], ids=["MPNet", "ModernBERT", "BERT"])
def test_no_global_policy_changes_the_weights_of_a_float32_encoder(settings):
    keras.config.set_dtype_policy("bfloat16")
    try:
        encoder = BertEncoder(tiny_encoder_config(**settings), dtype="float32")
        with pytest.raises(ValueError, match="'bfloat16' has weights in bfloat16; .* take .*mixed_bfloat16"):
            BertEncoder(tiny_encoder_config(**settings))
    finally:
        keras.config.set_dtype_policy("float32")
    with pytest.raises(ValueError, match="'int8_from_float32' has weights in int8; those of an encoder"):
        BertEncoder(tiny_encoder_config(**settings), dtype="int8_from_float32")
    assert {weight.dtype for weight in encoder.weights} == {"float32"}


@pytest.mark.parametrize(
    "settings",
    [MPNET, MODERN, MODERN | {"classifier_pooling": "mean"}, {}],
    ids=["MPNet", "ModernBERT", "ModernBERT of means", "BERT"],
)
def test_every_layer_is_built(settings):
    """Keras's `quantize` asks each."""
    layers = BertEncoder(tiny_encoder_config(num_hidden_layers=2, **settings))._flatten_layers()
    assert [layer.path for layer in layers if not layer.built] == []


def test_labels_in_a_batch_stand_for_no_input(encoder):
    """Keras takes the first entries by their order: these would be the segments."""
    batch = random_inputs(encoder.config, 3, 7)
    more = batch | {"label_ids": 1 - batch["segment_ids"]}
    symbolic = {name: keras.Input((None,), dtype="int32", name=name) for name in more}
    expected = encoder(batch)["sequence_output"]
    np.testing.assert_array_equal(encoder(more)["sequence_output"], expected)
    composed = keras.Model(symbolic, encoder(symbolic)["sequence_output"])
    np.testing.assert_array_equal(composed(more), expected)


# ------------------------------------------------------------------------------------- padding


def test_padding_does_not_change_real_tokens(encoder):
    inputs = random_inputs(encoder.config)
    outputs = encoder(inputs)
    longer = encoder({name: np.pad(value, [(0, 0), (0, 7)]) for name, value in inputs.items()})
    real = inputs["input_mask"].astype(bool)
    np.testing.assert_allclose(
        longer["sequence_output"][:, :12][real], outputs["sequence_output"][real], atol=1e-5
    )
    np.testing.assert_allclose(longer["pooled_output"], outputs["pooled_output"], atol=1e-5)


# ------------------------------------------------------------------------------------- weights


def test_bert_base_has_109_482_240_parameters():
    shapes = TASKS["encoder"]().variable_shapes(EncoderConfig())
    assert sum(math.prod(shape) for shape in shapes.values()) == 109_482_240


def test_fresh_weights_are_truncated_normal_and_no_two_tables_alike():
    config = tiny_encoder_config(num_hidden_layers=2, vocab_size=400, hidden_size=64, initializer_range=0.02)
    encoder = BertEncoder(config)
    tables = [v for v in encoder.trainable_variables if v.path.endswith(("kernel", "_embeddings"))]
    assert len(tables) == 3 + 2 * 6 + 1
    for table in tables:
        values = table.numpy()
        assert np.abs(values).max() <= 0.04 + 1e-7, table.path  # cut at two standard deviations
        if values.size > 2000:
            # A normal cut at two deviations has 0.88 of the deviation left.
            assert values.std() == pytest.approx(0.02 * 0.8796, rel=0.05), table.path
            assert abs(values.mean()) < 0.002, table.path
    firsts = [tuple(table.numpy().ravel()[:8]) for table in tables]
    assert len(set(firsts)) == len(firsts)
    for variable in encoder.trainable_variables:
        if variable.path.endswith(("bias", "beta")):
            assert not variable.numpy().any(), variable.path
        if variable.path.endswith("gamma"):
            assert np.all(variable.numpy() == 1.0), variable.path


# ---------------------------------------------------------------------------------- functional


def test_every_sequence_length_up_to_the_position_table(encoder):
    longest = encoder.config.max_position_embeddings
    for length in (2, 7, longest):
        outputs = encoder({name: tf.ones((2, length), tf.int32) for name in ENCODER_INPUTS})
        assert outputs["sequence_output"].shape == (2, length, encoder.config.hidden_size)
    with pytest.raises(ValueError, match=f"{longest + 1} tokens for each text, .* has {longest} positions"):
        encoder({name: tf.ones((2, longest + 1), tf.int32) for name in ENCODER_INPUTS})


@pytest.mark.parametrize(
    ("dtype", "outputs", "settings"),
    [
        ("mixed_bfloat16", ["sequence_output", "pooled_output"], {}),
        ("float32", ["attention_probabilities", "hidden_states"], MPNET),
    ],
)
def test_save_and_load(tmp_path, dtype, outputs, settings):
    encoder = BertEncoder(tiny_encoder_config(**settings), dtype, outputs)
    randomize(encoder)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert type(loaded) is BertEncoder and loaded.config == encoder.config
    assert loaded.policy.name == dtype
    inputs = random_inputs(encoder.config)
    assert list(loaded.output) == outputs
    for name in outputs:
        for ours, theirs in zip(tf.nest.flatten(encoder(inputs)[name]), tf.nest.flatten(loaded(inputs)[name]),
                                strict=True):  # fmt: skip
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("packed", [False, True])
def test_a_model_around_its_tensors_is_saved_and_loaded(packed, tmp_path):
    outputs = "sequence_output" if packed else "attention_probabilities"
    config = tiny_encoder_config(num_hidden_layers=1)
    encoder = BertEncoder(config, "mixed_bfloat16", outputs, packed=packed)
    model = keras.Model(encoder.input, {"last": tf.nest.flatten(encoder.output)[-1]})
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    inputs = random_inputs(config, 2, 6)
    if packed:
        inputs[PACKED_POSITIONS] = np.arange(12, dtype=np.int32).reshape(2, 6)
    np.testing.assert_array_equal(model(inputs)["last"], loaded(inputs)["last"])


def test_an_encoder_with_the_embeddings_of_another_has_no_config(encoder, tmp_path):
    other = BertEncoder(tiny_encoder_config(hidden_size=8), embeddings=encoder.embeddings)
    for each in (other, other.with_outputs("sequence_output")):
        with pytest.raises(ValueError, match="has the embeddings of another encoder, which no config holds"):
            each.save(tmp_path / "other.keras")


@pytest.mark.long
def test_graph_and_xla_answer_like_eager(encoder):
    inputs = {name: tf.constant(value) for name, value in random_inputs(encoder.config).items()}
    eager = encoder(inputs, training=False)
    for jit_compile in (False, True):
        function = tf.function(lambda x: encoder(x, training=False), jit_compile=jit_compile)
        for name, value in function(inputs).items():
            np.testing.assert_allclose(value, eager[name], atol=1e-5)
