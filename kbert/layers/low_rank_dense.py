import keras
from keras import ops

from kbert.config.lora_config import LORA_TARGETS, LoraConfig
from kbert.kernels.dropout import dropout
from kbert.layers.flat_dense import FlatDense, flat_matmul

_GOLDEN = 0x9E3779B9  # 2**32 over the golden ratio: multiples of it lie far apart


@keras.saving.register_keras_serializable(package="kbert")
class LowRankDense(FlatDense):
    """A `FlatDense` with an adapter: `x kernel + (alpha / rank) x lora_a lora_b + bias`.

    `lora_b` is zero at the start, so the layer begins as the dense layer that it adapts. Its `kernel` and
    `bias` are ordinary weights: which of them learn is the training's decision.

    Args:
      units, hidden_act, and further ones: see `FlatDense`.
      target: which projection it is, one of LORA_TARGETS; different ones draw different dropout.
      lora: a `LoraConfig`, or a dict of its fields.

    Call arguments:
      inputs: tensor of shape `(..., m)`.
      seed: the seed of the adapter's dropout, uint32 of shape (2,); None drops nothing.

    Reference: arXiv 2106.09685, section 4.1.
    """

    def __init__(self, units, hidden_act=None, *, target, lora, **kwargs):
        super().__init__(units, hidden_act, **kwargs)
        self.target = target
        self.lora = lora_config(lora)

    def build(self, input_shape):
        super().build(input_shape)
        inputs = input_shape[-1]
        self.lora_a = self.add_weight(
            name="lora_a",
            shape=(inputs, self.lora.rank),
            # Gaussian, as in the paper, which does not say how wide: so x A is about as large as x.
            initializer=keras.initializers.RandomNormal(stddev=inputs**-0.5),
        )
        shape = (self.lora.rank, self.kernel.shape[1])
        self.lora_b = self.add_weight(name="lora_b", shape=shape, initializer="zeros")

    def adaptation(self, inputs, seed=None):
        if seed is not None and self.lora.dropout:
            own = (LORA_TARGETS.index(self.target) + 1) * _GOLDEN % 2**32
            inputs = dropout(inputs, seed + ops.convert_to_tensor(own, "uint32"), self.lora.dropout)
        narrow = flat_matmul(inputs, ops.cast(self.lora_a, self.compute_dtype))
        return self.lora.scale * flat_matmul(narrow, ops.cast(self.lora_b, self.compute_dtype))

    def get_config(self):
        return super().get_config() | {"target": self.target, "lora": lora_dict(self.lora)}


def projection(target: str | None, lora: LoraConfig | None, units, hidden_act=None, **kwargs) -> FlatDense:
    """The dense layer of a projection: one with an adapter, where `lora` names it among its targets."""
    if lora and target in lora.targets:
        return LowRankDense(units, hidden_act, target=target, lora=lora, **kwargs)
    return FlatDense(units, hidden_act, **kwargs)


def lora_config(value: LoraConfig | dict | None) -> LoraConfig | None:
    """What `get_config` of a layer holds, as a `LoraConfig`."""
    return LoraConfig(**value) if isinstance(value, dict) else value


def lora_dict(lora: LoraConfig | None) -> dict | None:
    """A `LoraConfig` for `get_config` of a layer."""
    return None if lora is None else {**vars(lora), "targets": list(lora.targets)}
