"""The encoder for answering: a graph of few and large ops over real tokens."""

import dataclasses

import keras
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.heads.sparse_head import AnsweringSparseHead, SparseHead
from kbert.layers.flat_dense import AnsweringDense
from kbert.layers.real_tokens import LONG, RealTokens
from kbert.layers.transformer_block import AnsweringBlock, transformer_block


class AnsweringEncoder(keras.layers.Layer):
    """What a `BertEncoder` computes without training, faster.

    Four things differ, none of which changes a float32 answer beyond rounding:

    - Dense layers work on real tokens, and in the attention short texts share rows as wide as the longest.
      So one long text does not make 31 short ones as expensive as itself.
    - The ops stand as TensorFlow's grappler fuses them: product, bias and GELU; product, bias and residual;
      scores and mask are one op each.
    - With "pooled_output" alone, the last layer computes first tokens only.
    - Where a text is long, global attention goes text by text, some queries at a time, without a mask.

    In float32 the weights are the encoder's own. In bfloat16 those of the dense layers are copies, which
    later changes of the encoder do not reach.

    Args:
      encoder: the `BertEncoder`, in float32, not packed and without adapters.
      precision: "float32"; or "bfloat16" for the dense layers and what lies between them, for CPUs that have
        instructions for it. Norms, embeddings and outputs stay in float32.
      outputs: one or more of "sequence_output", "pooled_output", "hidden_states".

    Attributes:
      config: the `EncoderConfig` of `encoder`.

    Call arguments:
      a dict of int32 tensors of shape `(batch, seq_length)`: `input_ids`, `input_mask`, `segment_ids`, as for
      `BertEncoder`.

    Returns:
      a dict as `BertEncoder` returns it, in float32; zeros at padding.

    Raises:
      ValueError: for an encoder that is packed, has adapters or is not in float32; when it is called with
        `training=True`.
    """

    def __init__(self, encoder: BertEncoder, precision="float32", outputs=("pooled_output",)):
        super().__init__(name="encoder", dtype="float32")
        _check(encoder)
        self.precision, self.outputs = precision, tuple(outputs)
        self.config, self._embeddings, self._pooler = encoder.config, encoder.embeddings, encoder.pooler
        projection = encoder.embeddings.projection
        self._projection = None if projection is None else AnsweringDense(projection, precision)
        self._blocks = [AnsweringBlock(block, precision) for block in encoder.blocks]

    def call(self, inputs, training=False, mask=None):  # a functional model hands `mask` to every model in it
        if training:
            raise ValueError("an AnsweringEncoder is not trained; train the model that it was made of.")
        tokens = RealTokens(inputs["input_mask"])
        first_alone = self.outputs == ("pooled_output",) and self.config.classifier_pooling == "cls"
        states, rows = [self._embedded(inputs, tokens)], self._rows(tokens)
        for block in self._blocks[:-1]:
            states.append(transformer_block(block, states[-1], rows[block.attention.window])[0])
        last = self._blocks[-1]
        rows = self._rows(tokens, first_alone=True) if first_alone else rows
        states.append(transformer_block(last, states[-1], rows[last.attention.window])[0])
        states = [tf.cast(state, "float32") for state in states]
        return self._named_outputs(states, tokens, inputs["input_mask"], first_alone)

    def _embedded(self, inputs, tokens):
        """(T, H): the embeddings of the real tokens."""
        ids, segments = (tokens.take(inputs[name]) for name in ("input_ids", "segment_ids"))
        embedded = tf.cast(self._embeddings.embed_tokens(ids, segments, tokens.positions), self.precision)
        return embedded if self._projection is None else self._projection(embedded)

    def _rows(self, tokens, first_alone=False):
        """Window -> the rows of all tokens, whose mask has what positions add to the scores."""
        bias = self._embeddings.position_bias
        may_be_long = bias is None and self.config.max_position_embeddings > LONG
        rows = tokens.rows(self.precision, first_alone, may_be_long)
        if bias is not None:
            added = bias.between(rows.distances)  # (R, N, from, to)
            rows = dataclasses.replace(rows, mask=rows.mask + tf.cast(added, self.precision))
        windows = {block.attention.window for block in self._blocks} - {None}
        return {None: rows} | {window: rows.local(window) for window in windows}

    def _named_outputs(self, states, tokens, input_mask, first_alone):
        outputs = {}
        if "sequence_output" in self.outputs:
            outputs["sequence_output"] = tokens.pad(states[-1])
        if self._pooler is not None and "pooled_output" in self.outputs:
            first = states[-1] if first_alone else tokens.take_first(states[-1])
            is_mean = self.config.classifier_pooling == "mean"
            outputs["pooled_output"] = self._pooler(
                tokens.pad(states[-1]) if is_mean else first[:, None], input_mask
            )
        if "hidden_states" in self.outputs:
            outputs["hidden_states"] = tuple(tokens.pad(state) for state in states)
        return outputs

    def compute_output_spec(self, inputs, training=False, mask=None):
        batch, seq_length = inputs["input_ids"].shape
        width = self.config.hidden_size
        # A tensor each: a functional model tells them apart by identity.
        along = [
            keras.KerasTensor((batch, seq_length, width), "float32")
            for _ in range(self.config.num_hidden_layers + 2)
        ]
        specs = {
            "sequence_output": along[0],
            "pooled_output": keras.KerasTensor((batch, width), "float32"),
            "hidden_states": tuple(along[1:]),
        }
        return {name: specs[name] for name in self.outputs}


def answering_model(model, precision: str = "float32") -> keras.Model | AnsweringEncoder:
    """The model that answers as `model` does, but faster; see `AnsweringEncoder` for what is different.

    Args:
      model: a `TaskModel` in float32, or a `BertEncoder`.
      precision: "float32" or "bfloat16", of the encoder and of logits of all words.

    Returns:
      A functional model from the same inputs to the same outputs. It has the layers of `model`, but for the
      encoder and a `SparseHead`, so it follows every change of them; `encoder` is the one that answers, and
      `trained` is `model`, which also computes what nobody attends to. Of a `BertEncoder` an
      `AnsweringEncoder` with `sequence_output` alone, which vectors of texts are made of.
    """
    if isinstance(model, BertEncoder):
        return AnsweringEncoder(model, precision, ("sequence_output",))
    encoder = AnsweringEncoder(model.encoder, precision, tuple(model.encoder.output))

    def answering_layer(layer):
        if isinstance(layer, SparseHead):
            return AnsweringSparseHead(layer, precision)
        return encoder if layer is model.encoder else layer

    # Of a compiled model Keras would also clone the losses, the metrics and the optimizer, or fail to.
    graph = keras.Model(model.input, model.output, name=model.name)
    answering = keras.models.clone_model(graph, clone_function=answering_layer)
    answering.encoder = encoder
    object.__setattr__(answering, "trained", model)  # Keras would count its weights as others
    return answering


def _check(encoder):
    if encoder.packed or encoder.lora or encoder.policy.compute_dtype != "float32":
        raise ValueError(
            f"answers need an encoder in float32 that is not packed and has no adapters, received one in "
            f"{encoder.policy.name} with packed={encoder.packed}, lora={encoder.lora}; load it with "
            "kbert.load, which adds a run's adapters to its weights."
        )
