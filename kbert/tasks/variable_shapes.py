"""Names and shapes of a task's model, without memory for its values."""

import random
from concurrent.futures import ThreadPoolExecutor

import keras

from kbert.config import EncoderConfig
from kbert.encoder import BertEncoder
from kbert.layers import fresh_weights

_known: dict[tuple, dict[str, tuple[int, ...]]] = {}


def variable_shapes(task, config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    """Every trained variable of the model of a `Task`, and of its encoder's pooler: name -> shape."""
    key = config, type(task), repr(task.get_config())
    if key not in _known:
        _known[key] = _built_without_values(task, config)
    return _known[key]


def empty_model(task, config: EncoderConfig, dtype) -> keras.Model:
    """See `Task.empty_model`."""
    with fresh_weights.read_next():
        return task.build_model(BertEncoder(config, dtype=dtype))


def _built_without_values(task, config):
    """Builds the model and throws it away.

    In a `StatelessScope` variables have a name and a shape, but no values. Keras keeps them for later, and
    counts the names of layers, for each thread; so this one is new. Initializers draw seeds from Python's
    `random`, which must not depend on who asked for shapes.
    """

    def build():
        with keras.StatelessScope(initialize_variables=False):
            encoder = BertEncoder(config)
            model = task.build_model(encoder)
        variables = (*model.trainable_variables, *encoder.trainable_variables)
        return {variable.path: tuple(variable.shape) for variable in variables}

    state = random.getstate()
    try:
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(build).result()
    finally:
        random.setstate(state)
