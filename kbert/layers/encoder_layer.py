import dataclasses

import keras

from kbert.config import EncoderConfig
from kbert.layers.layer_norm import LayerNorm
from kbert.layers.low_rank_dense import projection


class EncoderLayer(keras.layers.Layer):
    """A layer that reads its settings from the encoder's config.

    Args:
      config: an `EncoderConfig`, or a dict of its fields, as `get_config` gives it.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = EncoderConfig(**config) if isinstance(config, dict) else config

    def make_dense(self, name, inputs, units, hidden_act=None, *, target=None, lora=None, **kwargs):
        """A built `FlatDense` from vectors of width `inputs`; see `projection` for the others."""
        settings = {"initializer_range": self.config.initializer_range, "dtype": self.dtype_policy} | kwargs
        dense = projection(target, lora, units, hidden_act, name=name, **settings)
        dense.build((None, inputs))
        return dense

    def make_norm(self, name, width, dropout=0.0, kind=LayerNorm, epsilon=None):
        """A built `LayerNorm`, or one of another `kind`, with the epsilon of the config or another one."""
        epsilon = self.config.layer_norm_eps if epsilon is None else epsilon
        norm = kind(epsilon, dropout, center=self.config.norm_bias, dtype=self.dtype_policy, name=name)
        norm.build((None, width))
        return norm

    def get_config(self):
        return super().get_config() | {"config": dataclasses.asdict(self.config)}
