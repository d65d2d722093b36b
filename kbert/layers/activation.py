"""The activation functions an EncoderConfig can name."""

import keras


def _gelu_tanh(x):
    return keras.ops.gelu(x, approximate=True)  # modeling.py, `gelu`: tanh with the constant .044715


def _gelu_erf(x):
    return keras.ops.gelu(x, approximate=False)


_ACTIVATIONS = {
    "gelu": _gelu_tanh,
    "gelu_erf": _gelu_erf,
    "relu": keras.ops.relu,
    "tanh": keras.ops.tanh,
    "linear": keras.activations.linear,
}


def activation(name: str):
    """The function for a `hidden_act` of kbert.config.ACTIVATIONS."""
    return _ACTIVATIONS[name]
