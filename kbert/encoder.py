"""EncoderConfig -> a functional Keras model."""

import dataclasses

import keras

from kbert.config import EncoderConfig
from kbert.features import ENCODER_INPUTS
from kbert.layers.bert_embeddings import BertEmbeddings
from kbert.layers.pooler import Pooler
from kbert.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable(package="kbert")
class BertEncoder(keras.Model):
    """The BERT encoder as a functional model.

    Args:
      config: an `EncoderConfig`.
      dtype: a Keras dtype policy, for example "float32" or "mixed_bfloat16".

    Call arguments:
      a dict of int32 tensors of shape `(batch, seq_length)`: `input_ids`; `input_mask`, 1 at real tokens
      and 0 at padding; `segment_ids`, 0 for the first text and 1 for the second. The sequence length may
      vary up to `max_position_embeddings`.

    Returns:
      dict: `sequence_output` of shape `(batch, seq_length, hidden_size)` and `pooled_output` of shape
      `(batch, hidden_size)`.

    Example:
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> encoder = BertEncoder(config)
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = encoder({"input_ids": ids, "input_mask": ids, "segment_ids": ids})
      >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
      ((2, 7, 8), (2, 8))

    Reference: arXiv 1810.04805, section 3; google-research/bert, modeling.py, `BertModel`.
    """

    def __init__(self, config: EncoderConfig, dtype=None, name="encoder", **kwargs):
        policy = keras.dtype_policies.get(dtype)

        # Layers
        embeddings = BertEmbeddings(
            config.vocab_size,
            config.hidden_size,
            config.max_position_embeddings,
            config.type_vocab_size,
            dropout=config.hidden_dropout_prob,
            layer_norm_eps=config.layer_norm_eps,
            initializer_range=config.initializer_range,
            dtype=policy,
            name="embeddings",
        )
        blocks = [
            TransformerBlock(
                config.hidden_size,
                config.num_attention_heads,
                config.intermediate_size,
                config.hidden_act,
                hidden_dropout=config.hidden_dropout_prob,
                attention_dropout=config.attention_probs_dropout_prob,
                layer_norm_eps=config.layer_norm_eps,
                initializer_range=config.initializer_range,
                dtype=policy,
                name=f"layer_{index}",
            )
            for index in range(config.num_hidden_layers)
        ]
        pooler = Pooler(
            config.hidden_size, initializer_range=config.initializer_range, dtype=policy, name="pooler"
        )

        # Functional model
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ENCODER_INPUTS}
        hidden_states = embeddings(inputs["input_ids"], inputs["segment_ids"])
        for block in blocks:
            hidden_states = block(hidden_states, inputs["input_mask"])
        outputs = {"sequence_output": hidden_states, "pooled_output": pooler(hidden_states)}
        super().__init__(inputs=inputs, outputs=outputs, name=name, **kwargs)

        # Config
        self.config = config
        self.embeddings = embeddings
        self.policy = policy

    def get_config(self):
        return {
            "config": dataclasses.asdict(self.config),
            "dtype": keras.dtype_policies.serialize(self.policy),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        return cls(EncoderConfig(**config["config"]), dtype=config["dtype"], name=config["name"])
