"""A label for every word of a text."""

import keras
from keras import ops

from kbert.features import LABEL_FEATURE
from kbert.heads.parts import token_head
from kbert.heads.token_classification_head import TokenClassificationHead
from kbert.tasks.task import Task, correct, cross_entropies, example_weights
from kbert.tasks.task_model import TaskModel

# Special tokens, padding and all pieces of a word but its first carry no label. Any number below 0 will
# do; this one is the field's (PyTorch's `ignore_index`).
IGNORED_LABEL = -100
# Keeps a batch without labels from dividing by 0; added to a count, float32 does not notice it.
_EPSILON = 1e-8


class TokenClassification(Task):
    """A label for each token, for example the entity that a word is part of.

    The feature `label_ids` is int32 of shape (batch, seq_length); places with a number below 0 count
    neither in the loss nor in the metrics. The loss is the mean over all labelled tokens of the batch.

    Args:
      labels: the label names in id order, at least two.

    Example:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, TokenClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = TokenClassification(["O", "B-PER", "I-PER"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 7, 3), 'probabilities': (2, 7, 3)}
    """

    name = "token_classification"
    best_metric = "token_accuracy"
    architecture = "BertForTokenClassification"
    has_labels = True

    def __init__(self, labels):
        if len(labels) < 2:
            raise ValueError(f"token classification needs at least two labels, received {list(labels)}.")
        self.labels = tuple(labels)

    def get_config(self):
        return {"labels": list(self.labels)}

    @classmethod
    def of_dataset(cls, dataset, settings=None):
        return cls(dataset.labels)

    @property
    def parts(self):
        return token_head("token_classification", len(self.labels), has_labels=True)

    def build_model(self, encoder):
        """Encoder inputs -> float32 `logits` and `probabilities`, both (batch, seq_length, labels)."""
        config, encoder = encoder.config, encoder.with_outputs("sequence_output")
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in encoder.input}
        head = TokenClassificationHead(
            num_labels=len(self.labels),
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name="token_classification",
        )
        logits = head(encoder(inputs)["sequence_output"])
        outputs = {"logits": logits, "probabilities": ops.softmax(logits, axis=-1)}
        return TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch):
        return {"loss": ops.sum(_token_weights(batch)) + _EPSILON}

    def loss_sums(self, outputs, batch):
        losses = cross_entropies(outputs["logits"], _labels(batch))
        return {"loss": ops.sum(losses * _token_weights(batch))}

    def metric_sums(self, outputs, batch):
        weights = _token_weights(batch)
        right = correct(outputs["logits"], _labels(batch))
        return {"token_accuracy": (ops.sum(right * weights), ops.sum(weights))}


def _labels(batch):
    return ops.maximum(batch[LABEL_FEATURE], 0)


def _token_weights(batch):
    """float32 (batch, seq_length): 1 at labelled tokens of real examples."""
    labelled = ops.cast(batch[LABEL_FEATURE] >= 0, "float32")
    return labelled * ops.expand_dims(example_weights(batch), 1)
