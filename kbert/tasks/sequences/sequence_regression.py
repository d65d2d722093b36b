"""One text, or a pair of texts -> a number."""

import numpy as np
from keras import ops

from kbert.config.checks import require
from kbert.features import TARGET_FEATURE, Feature
from kbert.files.json_values import shown
from kbert.tasks.correlations import correlations
from kbert.tasks.file_columns import task_files
from kbert.tasks.losses import example_weights
from kbert.tasks.pages.numbers import number_sections
from kbert.tasks.pages.page import NUM_TOKENS, Page
from kbert.tasks.sequences.sequence_task import SequenceServing, SequenceTask
from kbert.tasks.sequences.settings import VOTE, LongTextSettings
from kbert.tasks.serving import near
from kbert.tasks.signatures.example_signature import REGRESS, regress_signature
from kbert.tasks.task import CheckpointKind, SoftTarget


class _Page(Page):
    def example_sections(self, examples, predictions, most_examples):
        """See `number_sections`."""
        texts = self.task.by_text(predictions).values
        predicted, true = (texts[name] for name in self.task.scored)
        return number_sections(examples, predicted, true, texts[NUM_TOKENS], most_examples)


class _Serving(SequenceServing):
    answers = ("prediction",)

    def example_signature(self, texts):
        """`regress`: the number."""
        return REGRESS, regress_signature(texts, "prediction")

    def same_answers(self, outputs, expected, batch):
        """For each row whether the numbers are `near`."""
        return near(outputs["prediction"], expected["prediction"])

    def answer(self, outputs, inputs):
        """The number."""
        return {"prediction": float(outputs["prediction"])}

    def raw_answer(self, outputs, inputs):
        """The number before the activation."""
        return self.answer({"prediction": self.task.number(outputs)}, inputs)


class SquaredError:
    """The squared error of a number; a loss as `OneLabelLoss` is one."""

    def weights(self, weights, targets, training):
        """Those of examples."""
        return weights

    def losses(self, predictions, targets, training):
        """float32 of shape (batch,)."""
        return ops.square(predictions - targets)


class SequenceRegression(SequenceTask):
    """A number for each text or pair, such as the similarity of two sentences (STS-B).

    The head has one output and no activation. The loss is the mean squared error; the labels are not scaled.
    Evaluation gives Pearson's and Spearman's correlation, as GLUE does.

    Args:
      takes_pairs: see `SequenceTask`.
      activation: what makes a published cross-encoder's score of the output: "sigmoid"; "identity" is said to
        be the output itself, None is not said to be. With "sigmoid" there is also the output `logits`, before
        it.
      settings: those of `LongTextSettings`, by name; numbers have no vote.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, SequenceRegression
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = SequenceRegression().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'prediction': (2,)}

    Reference: arXiv 1804.07461 (GLUE), section 3.2.
    """

    name = "sequence_regression"
    settings_class = LongTextSettings
    best_metric = "pearson"
    chooses = ()
    loss = SquaredError()
    scored = ("prediction", TARGET_FEATURE)
    checkpoint = CheckpointKind("BertForSequenceClassification", "regression")
    files = task_files(name)
    serving_class = _Serving
    page_class = _Page

    def __init__(self, takes_pairs=None, activation=None, **settings):
        super().__init__((), takes_pairs, **settings)
        require(
            activation in (None, "identity", "sigmoid"),
            f"activation={shown(activation)} is not known; choose identity or sigmoid.",
        )
        self.activation = activation
        require(
            self.settings.window_pooling != VOTE,
            'window_pooling="vote" is for labels; give "mean" or "max" for a number.',
        )

    def get_config(self):
        return super().get_config() | ({"activation": self.activation} if self.activation else {})

    def with_activation(self, activation):
        return type(self)(**self.get_config() | {"activation": activation})

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"takes_pairs": bool(dataset.text_pair)}

    @classmethod
    def from_labels(cls, labels):
        return cls()

    def features(self, max_seq_length):
        return super().features(max_seq_length) | {TARGET_FEATURE: Feature("float32", ())}

    def label_features(self, examples):
        """`targets`, float32 of shape (rows,)."""
        return {TARGET_FEATURE: np.asarray([example.label for example in examples], np.float32)}

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        return [f"{example} -> {float(row[TARGET_FEATURE]):g}"]

    def outputs(self, logits):
        """float32 `prediction` of shape (batch,); before an activation also `logits` of this shape."""
        logits = logits[:, 0]
        if self.activation != "sigmoid":
            return {"prediction": logits}
        return {"prediction": ops.sigmoid(logits), "logits": logits}

    def logits(self, outputs):
        return self.number(outputs)[:, None]

    def number(self, outputs):
        """The head's own number, before an activation."""
        return outputs.get("logits", outputs["prediction"])

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["prediction"], example_weights(batch), "number"),)}

    def score(self, examples, predictions):
        """`pearson` and `spearman`, see `correlations`."""
        texts = self.by_text(predictions).values
        return correlations(*(texts[name] for name in self.scored))

    def baseline(self, batches, vocabulary):
        """`baseline_loss`: the loss, of windows where texts have several, of always answering the mean."""
        targets = np.concatenate([batch[TARGET_FEATURE] for batch in batches]).astype(np.float64)
        return {"baseline_loss": float(targets.var())}
