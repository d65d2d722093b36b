"""EncoderConfig -> a functional Keras model."""

import dataclasses

import keras

from kbert.config import EncoderConfig
from kbert.features import ENCODER_INPUTS, PACKED_POSITIONS
from kbert.forked import require_own_tensorflow
from kbert.full_float32 import keep_full_float32
from kbert.layers.bert_embeddings import BertEmbeddings
from kbert.layers.flat_dense import FlatDense
from kbert.layers.low_rank_dense import lora_config, lora_dict
from kbert.layers.named_inputs import NamedInputs
from kbert.layers.packed_rows import PackedRows, PaddedOutput
from kbert.layers.sequence_pooling import Pooler
from kbert.layers.transformer_block import TransformerBlock

ENCODER_OUTPUTS = ("sequence_output", "pooled_output", "hidden_states", "attention_probabilities")
# Matrices of tokens by tokens have no place in a padded batch once several texts share a row.
_OF_PADDED_ROWS = "attention_probabilities"


@keras.saving.register_keras_serializable(package="kbert")
class BertEncoder(NamedInputs):
    """The BERT encoder as a functional model.

    Args:
      config: an `EncoderConfig`.
      dtype: a Keras dtype policy with weights in float32: "float32", "mixed_bfloat16" or "mixed_float16".
      outputs: one or more names of ENCODER_OUTPUTS. Without "pooled_output" the model has no pooler, whose
        weights would get no gradient from a loss on tokens.
      packed: whether to compute on rows that hold several texts each. The additional input `packed_positions`
        says which token is where (see kbert.input_pipelines.packing). Attention stays within each text. The
        outputs at real tokens are the same as without packing; at padding hidden states are 0.
      recompute: whether to keep only each block's input for the backward pass and to run the block again
        there. This needs less memory and more time.
      lora: a `LoraConfig` for adapters beside projections, see `LowRankDense`; None for none. Trainings of
        kbert freeze the other weights; before Keras's `fit` do it yourself, as below.
      sharing: an encoder whose layers and weights are used instead of new ones, see `with_outputs`.
      embeddings: the `BertEmbeddings` of another encoder instead of new ones. If that one is of another
        width, a dense layer without activation brings their output to `hidden_size`. Such an encoder is saved
        by the model that makes both (`TaskModel.save`), or by `save_weights`.

    Call arguments:
      a dict of int32 tensors of shape `(batch, seq_length)`: `input_ids`; `input_mask`, 1 at real tokens
      and 0 at padding; `segment_ids`, 0 for the first text and 1 for the second. The sequence length may
      vary up to `max_position_embeddings`. With `packed` also `packed_positions`, see `PackedRows`.

    Returns:
      a dict with the outputs named in `outputs`: `sequence_output` of shape
      `(batch, seq_length, hidden_size)`; `pooled_output` of shape `(batch, hidden_size)`; `hidden_states`, a
      tuple of `num_hidden_layers + 1` tensors like `sequence_output`: the output of the embeddings, then of
      each layer; `attention_probabilities`, a tuple of `num_hidden_layers` float32 tensors of
      shape `(batch, heads, from_length, to_length)`, before dropout.

    Raises:
      ValueError: for an unknown output or another policy, and for attention probabilities with `packed`.

    Examples:
      >>> import keras, kbert
      >>> from kbert import BertEncoder, EncoderConfig
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> encoder = BertEncoder(config)
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> inputs = {"input_ids": ids, "input_mask": ids, "segment_ids": ids}
      >>> outputs = encoder(inputs)
      >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
      ((2, 7, 8), (2, 8))
      >>> states = encoder.with_outputs("hidden_states")(inputs)["hidden_states"]
      >>> len(states), bool(keras.ops.all(states[-1] == outputs["sequence_output"]))
      (2, True)
      >>> adapted = BertEncoder(config, lora=kbert.config.LoraConfig(rank=2))
      >>> for weight in adapted.weights:
      ...     weight.trainable = "lora_" in weight.path or "pooler" in weight.path
      >>> sorted({weight.name for weight in adapted.trainable_weights})
      ['bias', 'kernel', 'lora_a', 'lora_b']

    Reference: arXiv 1810.04805, section 3; google-research/bert, modeling.py, `BertModel`.
    """

    def __init__(
        self,
        config: EncoderConfig,
        dtype=None,
        outputs=("sequence_output", "pooled_output"),
        name="encoder",
        *,
        packed=False,
        recompute=False,
        lora=None,
        sharing: "BertEncoder | None" = None,
        embeddings: BertEmbeddings | None = None,
        **kwargs,
    ):
        outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        _check_outputs(outputs, packed)
        require_own_tensorflow()
        policy, lora = keras.dtype_policies.get(dtype), lora_config(lora)
        _check_policy(policy)
        if policy.compute_dtype == "float32":
            keep_full_float32()

        # Layers
        projection = None
        has_others = embeddings is not None if sharing is None else sharing.has_embeddings_of_another
        if sharing is None:
            embeddings = embeddings or BertEmbeddings(config, dtype=policy, name="embeddings")
            if embeddings.config.hidden_size != config.hidden_size:
                projection = _projection(config, policy)
            blocks = _blocks(config, packed=packed, recompute=recompute, lora=lora, dtype=policy)
            pooler = Pooler(config, dtype=policy, name="pooler")
        else:
            embeddings, projection = sharing.embeddings, sharing.projection
            blocks, pooler = sharing.blocks, sharing.pooler
        if "pooled_output" not in outputs:
            pooler = None
        elif pooler is None:
            raise ValueError('this encoder has no pooler; build it with "pooled_output" among its outputs.')

        # Functional model
        names = (*ENCODER_INPUTS, PACKED_POSITIONS) if packed else ENCODER_INPUTS
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
        embedded, mask, padded = (_pack_texts if packed else _keep_padding)(inputs, embeddings)
        embedded = embedded if projection is None else projection(embedded)
        # What every block takes beside hidden states.
        position_bias = embeddings.position_bias if config.relative_attention_num_buckets else None
        beside = (mask,) if position_bias is None else (mask, position_bias(embedded))
        hidden_states = [embedded]
        probabilities = []
        for block in blocks:
            if "attention_probabilities" in outputs:
                hidden, attention = BlockWithProbabilities(block)(hidden_states[-1], *beside)
                probabilities.append(attention)
            else:
                hidden = block(hidden_states[-1], *beside)
            hidden_states.append(hidden)
        if "hidden_states" in outputs:
            hidden_states = [padded(hidden) for hidden in hidden_states]
        else:
            hidden_states[-1] = padded(hidden_states[-1])
        tensors = {
            "sequence_output": hidden_states[-1],
            "pooled_output": pooler and pooler(hidden_states[-1], inputs["input_mask"]),
            "hidden_states": tuple(hidden_states),
            "attention_probabilities": tuple(probabilities),
        }
        outputs = {output: tensors[output] for output in outputs}
        super().__init__(inputs=inputs, outputs=outputs, name=name, **kwargs)

        # Config
        self.config = config
        self.policy = policy
        self.packed = packed
        self.recompute = recompute
        self.lora = lora
        self.has_embeddings_of_another = has_others
        self.embeddings = embeddings
        self.projection = projection
        self.blocks = blocks
        self.pooler = pooler

    def with_outputs(self, *outputs: str) -> "BertEncoder":
        """An encoder with the same layers and weights but with other outputs, see ENCODER_OUTPUTS.

        It works without packing if attention probabilities are among the outputs.

        Raises:
          ValueError: for an unknown output, or "pooled_output" of an encoder without a pooler.
        """
        if sorted(map(str, outputs)) == sorted(self.output):
            return self
        return BertEncoder(
            self.config,
            self.policy,
            outputs,
            self.name,
            packed=self.packed and _OF_PADDED_ROWS not in outputs,
            recompute=self.recompute,
            lora=self.lora,
            sharing=self,
        )

    def get_config(self):
        """Raises ValueError where `embeddings` were given: a copy by a config would have some of its own."""
        if self.has_embeddings_of_another:
            raise ValueError(
                f"encoder {self.name!r} has the embeddings of another encoder, which no config holds: save "
                "the TaskModel that makes both, or use save_weights."
            )
        return {
            "config": dataclasses.asdict(self.config),
            "dtype": keras.dtype_policies.serialize(self.policy),
            "outputs": list(self.output),
            "name": self.name,
            "packed": self.packed,
            "recompute": self.recompute,
            "lora": lora_dict(self.lora),
            "frozen": frozen_weights(self),
        }

    @classmethod
    def from_config(cls, config):
        frozen = config.get("frozen", ())
        settings = {name: value for name, value in config.items() if name != "frozen"}
        return freeze(cls(**settings | {"config": EncoderConfig(**config["config"])}), frozen)


def frozen_weights(model) -> list[str]:
    """The paths of weights that somebody has frozen (`trainable = False`), for `get_config` of a model. Not
    those that an adapter of Keras froze: its file has both as one weight."""
    adapted = {
        weight.path
        for layer in model._flatten_layers()
        if getattr(layer, "lora_enabled", False)
        for weight in layer.weights
    }
    return [weight.path for weight in model.weights if not weight.trainable and weight.path not in adapted]


def freeze(model, paths):
    """The model, with the weights of these paths frozen, and layers that have no others."""
    for weight in model.weights:
        weight.trainable = weight.trainable and weight.path not in paths
    for layer in model._flatten_layers():
        if layer.weights and not any(weight.trainable for weight in layer.weights):
            layer.trainable = False
    return model


@keras.saving.register_keras_serializable(package="kbert")
class BlockWithProbabilities(keras.layers.Layer):
    """A transformer block that also gives its attention probabilities.

    A layer of its own around the block, because in a functional model Keras expects the same number of
    outputs wherever a layer is called.
    """

    def __init__(self, block):
        super().__init__(name=block.name, dtype=block.dtype_policy, autocast=False)  # as the block itself
        self.block = block

    def build(self, hidden_states_shape, input_mask_shape):
        if not self.block.built:  # made from a config
            self.block.build(hidden_states_shape, input_mask_shape)
        self.built = True

    def call(self, hidden_states, input_mask, position_bias=None, training=False):
        return self.block(
            hidden_states, input_mask, position_bias, with_probabilities=True, training=training
        )

    def compute_output_spec(self, hidden_states, input_mask, position_bias=None, training=False):
        return self.block.compute_output_spec(hidden_states, input_mask, with_probabilities=True)

    def get_config(self):
        return {"block": keras.saving.serialize_keras_object(self.block)}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["block"]))


def _keep_padding(inputs, embeddings):
    """(input of the first block, its mask, function that brings hidden states back to the padded batch)"""
    embedded = embeddings(inputs["input_ids"], inputs["segment_ids"])
    return embedded, inputs["input_mask"], lambda hidden: hidden


def _pack_texts(inputs, embeddings):
    positions = inputs[PACKED_POSITIONS]
    packed = PackedRows(name="packed_rows")(positions, inputs["input_ids"], inputs["segment_ids"])
    embedded = embeddings(packed["input_ids"], packed["segment_ids"], packed["position_ids"])
    padded = PaddedOutput(name="padded_output", dtype=embeddings.dtype_policy.name)
    return embedded, packed["text_numbers"], lambda hidden: padded(hidden, positions, packed["rows"])


def _check_outputs(outputs, packed):
    unknown = [output for output in outputs if output not in ENCODER_OUTPUTS]
    if unknown or not outputs:
        raise ValueError(
            f"outputs={list(outputs)} of an encoder must be one or more of {', '.join(ENCODER_OUTPUTS)}."
        )
    if packed and _OF_PADDED_ROWS in outputs:
        raise ValueError(f"an encoder gives {_OF_PADDED_ROWS} only with packed=False.")


def _check_policy(policy):
    """The kernels of a training compute with weights in float32."""
    weights = policy.quantization_mode or policy.variable_dtype
    if weights != "float32":
        raise ValueError(
            f"the dtype policy {policy.name!r} has weights in {weights}; those of an encoder "
            'are in float32: take "float32", "mixed_bfloat16" or "mixed_float16".'
        )


def _projection(config, policy) -> FlatDense:
    """From the embeddings of another encoder."""
    return FlatDense(
        config.hidden_size, initializer_range=config.initializer_range, dtype=policy, name="projection"
    )


def _blocks(config, **settings):
    blocks = [
        TransformerBlock(config, index, name=f"layer_{index}", **settings)
        for index in range(config.num_hidden_layers)
    ]
    for block in blocks:  # built here, so that the weights' names do not depend on the outputs
        block.build((None, None, config.hidden_size), (None, None))
    return blocks
