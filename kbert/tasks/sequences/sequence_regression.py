"""One text, or a pair of texts -> a number."""

import numpy as np
from scipy import special

from kbert.checks import require
from kbert.cli.warn_once import warn_once
from kbert.features import TARGET_FEATURE, Feature
from kbert.files.json_values import shown
from kbert.input_pipelines.label_checks import warn_of_one_number
from kbert.late_tensorflow import ops
from kbert.tasks.correlations import correlations
from kbert.tasks.file_columns import task_files
from kbert.tasks.losses import binary_cross_entropies, example_sum, example_weights
from kbert.tasks.pages.numbers import number_sections
from kbert.tasks.pages.page import NUM_TOKENS, Page
from kbert.tasks.sequences.number_files import are_ranked
from kbert.tasks.sequences.ranked_pairs import RANKED_SCORES, ranked_names, ranked_scores
from kbert.tasks.sequences.sequence_task import SequenceServing, SequenceTask
from kbert.tasks.sequences.settings import BINARY_CROSS_ENTROPY, VOTE, NumberSettings
from kbert.tasks.serving import near
from kbert.tasks.signatures.example_signature import REGRESS, regress_signature
from kbert.tasks.task import CheckpointKind, SoftTarget

_SIGMOID = "sigmoid"
# How far from 0 labels may lie. Adam moves a weight by about the learning rate a step. 1,000 steps of 2e-5
# that falls to 0 move each of a head's 768 weights by .01, so its number by 8 at most: its inputs are tanh's.
_FAR = 10


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

    def activated(self, number):
        """A sigmoid, where the task has it."""
        return float(special.expit(number)) if self.task.activation == _SIGMOID else number


class SequenceRegression(SequenceTask):
    """A number for each text or pair, such as the similarity of two sentences (STS-B).

    The head has one output. The loss is the mean squared error; the labels are not scaled: those far from 0,
    such as years and prices, you have to scale. Or, for numbers
    from 0 to 1, the binary cross-entropy of the output before its activation: so cross-encoders are trained
    that say how relevant a text is for a query (sentence-transformers' BinaryCrossEntropyLoss). Evaluation
    gives Pearson's and Spearman's correlation, as GLUE does, and of queries with several texts each how well
    they are ranked.

    Args:
      takes_pairs: see `SequenceTask`.
      activation: what makes a cross-encoder's score of the output: "sigmoid"; "identity" is said to be the
        output itself, None is not said to be. With "sigmoid" there is also the output `logits`, before it.
        None becomes "sigmoid" with the binary cross-entropy.
      has_negatives: whether files have columns of negatives.
      settings: those of `NumberSettings`, by name; numbers have no vote.

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

    Reference: arXiv 1804.07461 (GLUE), section 3.2; sentence-transformers,
    cross_encoder/losses/BinaryCrossEntropyLoss.py.
    """

    name = "sequence_regression"
    settings_class = NumberSettings
    best_metric = "pearson"
    chooses = ()
    scored = ("prediction", TARGET_FEATURE)
    checkpoint = CheckpointKind("BertForSequenceClassification", "regression")
    files = task_files(name)
    serving_class = _Serving
    page_class = _Page

    def __init__(self, takes_pairs=None, activation=None, has_negatives=False, **settings):
        super().__init__((), takes_pairs, **settings)
        require(
            activation in (None, "identity", "sigmoid"),
            f"activation={shown(activation)} is not known; choose identity or sigmoid.",
        )
        self.has_negatives, loss = has_negatives, self.settings.loss
        by_default = BINARY_CROSS_ENTROPY if has_negatives or activation == _SIGMOID else None
        self._is_binary = (loss or by_default) == BINARY_CROSS_ENTROPY
        self.activation = _SIGMOID if activation is None and self._is_binary else activation
        require(
            self.settings.window_pooling != VOTE,
            'window_pooling="vote" is for labels; give "mean" or "max" for a number.',
        )

    def get_config(self):
        settings = {"activation": self.activation, "has_negatives": self.has_negatives}
        return super().get_config() | {name: value for name, value in settings.items() if value}

    def with_activation(self, activation):
        return type(self)(**self.get_config() | {"activation": activation})

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"takes_pairs": bool(dataset.text_pair), "has_negatives": bool(dataset.negatives)}

    @classmethod
    def from_labels(cls, labels):
        return cls()

    @property
    def not_in_answers(self):
        return (*super().not_in_answers, "loss")

    @property
    def collected(self):
        logits = ("logits",) if self.activation == _SIGMOID else ()
        return (*super().collected, *logits)

    @property
    def label_range(self):
        return (0, 1) if self._is_binary or self.activation == _SIGMOID else None

    def check_examples(self, examples, max_seq_length):
        super().check_examples(examples, max_seq_length)
        for example in examples if self.label_range else ():
            require(
                0 <= example.label <= 1,
                f"the example that begins with {example.text[:60]!r} has the label {example.label:g}; "
                "expected a number from 0 to 1, whose score is a sigmoid. Divide the labels by the largest, "
                'or learn them as they are: loss="squared_error" in [task_settings], from a checkpoint '
                "without a sigmoid.",
            )

    def check_training(self, config, examples):
        """Warns of numbers that are all the same or far from 0, and of texts that are right and wrong for a
        query."""
        super().check_training(config, examples)
        labels = [example.label for example in examples or ()]
        warn_of_one_number(config, labels, "labels", "give numbers that differ")
        if labels and np.hypot(mean := np.mean(labels), deviation := np.std(labels)) > _FAR:
            warn_once(
                f"the labels of the training are {mean:.4g} on average, from {min(labels):g} to "
                f"{max(labels):g}. A head that begins anew answers near 0, and usual learning rates move it "
                "by a few units in all: its predictions may stay far from such labels, however high their "
                "correlation. "
                f"Learn (label - {mean:.4g}) / {deviation or 1:.4g}, say, and scale the predictions back."
            )
        if self.has_negatives and examples is not None:
            self.files.warn_of_contradictions(examples)

    def check_metric(self, metric, examples):
        names = ranked_names(examples) if metric in RANKED_SCORES else (metric,)
        what = (
            "queries whose texts have several numbers (a 0 among them but for ndcg_at_10), and no query of "
            "the examples for evaluation is such"
            if are_ranked(examples)
            else f"queries with several texts, which few of the {len(examples):,} "
            "examples for evaluation are of"
        )
        require(
            metric in names,
            f"best_metric={metric} is for {what}; set --override=best_metric={[*names, 'pearson'][0]}.",
        )

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
        if self.activation != _SIGMOID:
            return {"prediction": logits}
        return {"prediction": ops.sigmoid(logits), "logits": logits}

    def logits(self, outputs):
        return self.number(outputs)[:, None]

    def number(self, outputs):
        """The head's own number, before an activation."""
        return outputs.get("logits", outputs["prediction"])

    def loss_weights(self, batch, training=False):
        return {"loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch, training=False):
        targets = batch[TARGET_FEATURE]
        if self._is_binary:
            return {"loss": example_sum(binary_cross_entropies(self.number(outputs), targets), batch)}
        return {"loss": example_sum(ops.square(outputs["prediction"] - targets), batch)}

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["prediction"], example_weights(batch), "number"),)}

    def score(self, examples, predictions):
        """`pearson` and `spearman`, see `correlations`; of queries with several texts `ranked_scores`."""
        texts, owners = self.by_text(predictions)
        ranked = ranked_scores([examples[owner] for owner in owners], self.number(texts)) if examples else {}
        return correlations(*(texts[name] for name in self.scored)) | ranked

    def baseline(self, batches, vocabulary):
        """`baseline_loss`: the loss, of windows where texts have several, of always answering the mean."""
        targets = np.concatenate([batch[TARGET_FEATURE] for batch in batches]).astype(np.float64)
        mean = targets.mean()
        entropy = -special.xlogy(mean, mean) - special.xlogy(1 - mean, 1 - mean)
        return {"baseline_loss": float(entropy if self._is_binary else targets.var())}
