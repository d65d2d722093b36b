"""One check for every layer and head."""

import keras
import numpy as np
import tensorflow as tf

from kbert.config import EncoderConfig


def layer_config(**settings) -> EncoderConfig:
    """A config for one layer; as many positions as a check uses, so that each row of a table is trained."""
    small = {
        "vocab_size": 11,
        "hidden_size": 8,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "max_position_embeddings": 5,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.2,
    }
    return EncoderConfig(**small | settings)


def check_layer(make_layer, inputs: dict, output_shape: tuple, output_dtype: str | None = None):
    """Builds, calls, casts, saves and trains a layer.

    Args:
      make_layer: takes keyword arguments (`dtype`) and returns a new layer.
      inputs: call argument -> NumPy array; float arrays are cast to the layer's compute dtype.
      output_shape: the expected shape.
      output_dtype: expected dtype under every policy; None expects the policy's compute dtype.
    """
    layer = make_layer()
    outputs = layer(**_cast(inputs, layer))
    assert layer.built
    assert tuple(outputs.shape) == output_shape
    assert outputs.dtype == (output_dtype or layer.compute_dtype)

    _check_symbolic_call(make_layer(), inputs, output_shape, output_dtype)
    _check_mixed_precision(make_layer(dtype="mixed_bfloat16"), layer, inputs, output_dtype)
    _check_round_trip(layer, inputs, outputs)
    _check_training_step(make_layer(), inputs)


def _cast(inputs, layer):
    return {
        name: keras.ops.cast(value, layer.compute_dtype) if value.dtype.kind == "f" else tf.constant(value)
        for name, value in inputs.items()
    }


def _check_symbolic_call(layer, inputs, output_shape, output_dtype):
    """With an open batch size, as in functional models, the other dimensions must stay known."""
    symbolic = {
        name: keras.KerasTensor((None, *value.shape[1:]), "float32" if value.dtype.kind == "f" else "int32")
        for name, value in inputs.items()
    }
    outputs = layer(**symbolic)
    assert tuple(outputs.shape) == (None, *output_shape[1:])
    assert outputs.dtype == (output_dtype or "float32")


def _check_mixed_precision(layer, float32_layer, inputs, output_dtype):
    outputs = layer(**_cast(inputs, layer))
    layer.set_weights(float32_layer.get_weights())
    outputs = layer(**_cast(inputs, layer))
    assert all(weight.dtype == "float32" for weight in layer.trainable_weights)
    assert outputs.dtype == (output_dtype or "bfloat16")
    outputs = keras.ops.convert_to_numpy(keras.ops.cast(outputs, "float32"))
    expected = keras.ops.convert_to_numpy(float32_layer(**_cast(inputs, float32_layer)))
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs, expected, atol=0.1 * max(1.0, np.abs(expected).max()))


def _check_round_trip(layer, inputs, outputs):
    config = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(config)
    assert type(copy) is type(layer)
    assert copy.get_config() == layer.get_config()
    copy(**_cast(inputs, copy))
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(**_cast(inputs, copy)), outputs)


def _check_training_step(layer, inputs):
    """One step along the gradient changes every weight."""
    arguments = _cast(inputs, layer)
    targets = tf.random.stateless_normal(layer(**arguments).shape, seed=[1, 2])
    before = layer.get_weights()
    variables = [weight.value for weight in layer.trainable_weights]

    with tf.GradientTape() as tape:
        # The product with fixed random numbers prevents gradients that vanish by symmetry.
        loss = tf.reduce_sum(tf.cast(layer(**arguments, **_training(layer)), tf.float32) * targets)
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    for weight, old in zip(layer.weights, before, strict=True):
        if weight.trainable:
            assert np.any(old != weight.numpy()), f"{weight.path} did not change"


def _training(layer):
    return {"training": True} if layer._call_has_training_arg else {}
