import keras
from keras import ops

from kbert.heads.head import Head
from kbert.layers.dropout import Dropout

LSTM_LAYERS = 2  # "two-layer", arXiv 1810.04805, section 5.3


@keras.saving.register_keras_serializable(package="kbert")
class BiLstmHead(Head):
    """Two bidirectional LSTMs over the vectors of a sentence's words, and a dense layer on top.

    Before each of the three, a share of the vectors' elements is dropped in training.

    Args:
      config: an `EncoderConfig`: `hidden_dropout_prob` is that share, and `initializer_range` is the dense
        layer's; the LSTMs have Keras's own.
      num_labels: number of labels.
      width: the size of what an LSTM gives for a word, both directions together; an even number.

    Call arguments:
      vectors: tensor of shape `(batch, seq_length, size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at words and 0 at the padding after them, which
        has no influence on the words.

    Returns:
      float32 logits of shape `(batch, seq_length, num_labels)`.

    Reference: arXiv 1810.04805, section 5.3.
    """

    def __init__(self, config, num_labels, width, **kwargs):
        super().__init__(config, **kwargs)
        self.num_labels = num_labels
        self.width = width

    def build(self, vectors_shape, input_mask_shape):
        policy = self.dtype_policy
        self.lstms, self.dropouts = [], []
        for number in range(LSTM_LAYERS):
            # Without cuDNN: its kernels are none of XLA's, and its sums differ from those of other devices.
            forward = keras.layers.LSTM(
                self.width // 2, return_sequences=True, use_cudnn=False, dtype=policy, name="lstm"
            )
            both = keras.layers.Bidirectional(forward, dtype=policy, name=f"bilstm_{number}")
            size = self.width if number else vectors_shape[-1]
            both.build((*vectors_shape[:-1], size))
            self.lstms.append(both)
        for number in range(LSTM_LAYERS + 1):
            self.dropouts.append(
                Dropout(self.config.hidden_dropout_prob, dtype=policy, name=f"dropout_{number}")
            )
        self.dense = self.make_dense("dense", self.width, self.num_labels, dtype="float32")
        self.built = True

    def call(self, vectors, input_mask, training=False):
        mask = ops.not_equal(input_mask, 0)
        at_words = ops.expand_dims(ops.cast(mask, self.compute_dtype), -1)  # (B, S, 1)
        for lstm, dropout in zip(self.lstms, self.dropouts[:-1], strict=True):
            vectors = lstm(dropout(vectors, training=training), mask=mask, training=training)  # (B, S, width)
            vectors = vectors * at_words  # an LSTM repeats its last output at padding
        vectors = self.dropouts[-1](vectors, training=training)
        return self.dense(vectors)

    def compute_output_shape(self, vectors_shape, input_mask_shape):
        return (*vectors_shape[:-1], self.num_labels)

    def get_config(self):
        return super().get_config() | {"num_labels": self.num_labels, "width": self.width}


@keras.saving.register_keras_serializable(package="kbert")
class ScalarMix(keras.layers.Layer):
    """A weighted sum of the outputs of several layers, with weights that are learned.

    `scale * sum_j softmax(layer_weights)_j h_j`. All weights are 0 at first: training begins with the mean.

    Args:
      num_layers: how many layers.

    Call arguments:
      layers: tensor of shape `(batch, seq_length, num_layers * hidden_size)`, the layers side by side.

    Returns:
      A tensor of shape `(batch, seq_length, hidden_size)`.

    Examples:
      >>> import numpy as np
      >>> from kbert.heads.bilstm_head import ScalarMix
      >>> ScalarMix(num_layers=2)(np.array([[[2.0, 2.0, 4.0, 4.0]]])).numpy().tolist()
      [[[3.0, 3.0]]]

    Reference: arXiv 1802.05365 (ELMo), equation 1. The BERT paper (arXiv 1810.04805, table 7) says "weighted
    sum" and not how the weights come about.
    """

    def __init__(self, num_layers, **kwargs):
        super().__init__(**kwargs)
        self.num_layers = num_layers

    def build(self, input_shape):
        shape = (self.num_layers,)
        self.layer_weights = self.add_weight(name="layer_weights", shape=shape, initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        self.built = True

    def call(self, layers):
        shares = ops.softmax(self.layer_weights)
        each = ops.split(layers, self.num_layers, axis=-1)
        return self.scale * sum(shares[index] * layer for index, layer in enumerate(each))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] // self.num_layers)

    def get_config(self):
        return super().get_config() | {"num_layers": self.num_layers}
