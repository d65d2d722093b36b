"""A label for every word of a text."""

import re

import numpy as np

from kbert.cli.warn_once import warn_once
from kbert.features import LABEL_FEATURE, WORD_FEATURE, Feature, encoder_features
from kbert.files.json_values import shown
from kbert.heads import bilstm_head, classification_head
from kbert.heads.parts import token_head
from kbert.input_pipelines.label_names import require_label_names
from kbert.late_tensorflow import ops
from kbert.tasks import task_model
from kbert.tasks.file_columns import signature_inputs, task_files
from kbert.tasks.label_losses import OF_TRAINING, OneLabelLoss
from kbert.tasks.label_scores import label_rows
from kbert.tasks.losses import correct, example_weights
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import Signature, ids_signature, texts_signature
from kbert.tasks.task import CheckpointKind, ExampleFeatures, SoftTarget, Task
from kbert.tasks.token_classification.entity_scores import (
    entity_metrics,
    sentences_from_rows,
)
from kbert.tasks.token_classification.sentence_rows import SentenceRows
from kbert.tasks.token_classification.settings import LINEAR, MIX, TAGGER, TokenClassificationSettings
from kbert.tasks.token_classification.tag_schemes import (
    OUTSIDE,
    is_tag,
    labels_in_bioes,
    split_tag,
)
from kbert.tasks.token_classification.word_answers import WordLabels, text_answer
from kbert.tasks.token_classification.word_page import WordPage, pad_tokens
from kbert.tasks.token_classification.word_windows import WordWindows
from kbert.tokenization import long_texts
from kbert.tokenization.character_classes import IDEOGRAPHS, UNSPACED_LETTERS, in_python

# Keeps a batch without labels from dividing by 0; added to a count, float32 does not notice it.
_EPSILON = 1e-8
_RUN = re.compile(f"[{in_python(UNSPACED_LETTERS)}]{{20,}}")  # letters, of which a word seldom has so many
_UNSPACED_WORD = re.compile(f"[{in_python(UNSPACED_LETTERS + IDEOGRAPHS)}]{{2,}}")
_FEW = 5  # one in so many words
_PREDICTED = "predicted_ids"  # collected: the label that the model gives each token


class _Serving(Serving):
    inputs, _ = signature_inputs("token_classification")
    answers = ("words", "entities")
    in_windows = True

    def signatures(self, model, text_inputs):
        """`serving_default`: `text` (string [batch]) of any length -> `words`, `starts`, `ends`, `labels` and
        `probabilities`, all [batch, words]; `words`: words that are known (string [batch, words], filled up
        with "") -> `labels` and `probabilities`; `ids`: encoder inputs (int32 [batch, length]) -> `logits`
        and `probabilities` (float32 [batch, length, labels]), 0 at padding."""
        labeller = WordLabels(model, self.task.windows(text_inputs), self.task.labels)

        def answer_ids(inputs):
            is_token = ops.cast(inputs["input_mask"][..., None], "float32")
            outputs = model(inputs, training=False)
            return {name: value * is_token for name, value in outputs.items()}

        return {
            "serving_default": texts_signature(self.inputs, labeller.label_text),
            "words": Signature({"words": ("string", (None, None))}, labeller.label_words),
            "ids": ids_signature(answer_ids, model, text_inputs),
        }

    def incomplete(self, outputs):
        """Says that words are runs of letters that stand without blanks, and that labels seem to be of
        entities, and are no tags of one scheme: there are no entities."""
        sentences = []
        if any(_RUN.search(word.decode("utf-8", "ignore")) for word in np.ravel(outputs.get("words", ()))):
            sentences.append(
                "texts in Thai, Lao, Burmese, Khmer or kana are cut into words at blanks and marks alone, so "
                "a run of letters has one label, that of its first token; put blanks between the words."
            )
        labels = self.task.labels
        tags = [label for label in labels if is_tag(label)]
        if tags and not self.task.tag_by_label:
            others = shown(sorted({*labels} - {*tags}) or list(labels))
            sentences.append(
                f"the labels {others} are no tags of one scheme, such as B-PER and I-PER, so answers hold "
                "words with labels and no entities; labels that are types without a prefix may be called "
                "I-TYPE, and B and I alone B-TYPE and I-TYPE (id2label of a config.json)."
            )
        return " ".join(sentences) or None

    def same_answers(self, outputs, expected, batch):
        """For each labelled token whether the label is the same; without labels, for each real token."""
        has_answer = np.asarray(
            batch[LABEL_FEATURE] >= 0 if LABEL_FEATURE in batch else batch["input_mask"] > 0
        )
        return (np.argmax(outputs["logits"], axis=-1) == np.argmax(expected["logits"], axis=-1))[has_answer]

    def answer(self, outputs, inputs):
        """The words of the text with their labels, and the entities; see `text_answer`."""
        return text_answer(inputs["text"], outputs, self.task.tag_by_label)


class TokenClassification(Task):
    """A label for each word, for example the entity that it is part of.

    A word's label is that of its first token. Long sentences become several windows, and each word counts in
    one, the window that shows most of the text around it: no word is lost, and none counts twice. Where the
    labels are tags of entities, evaluation gives `precision`, `recall` and `f1` over entities as conlleval
    does, and `strict_f1` and its parts, where an entity begins with B (or S) alone.

    The feature `label_ids` is int32 of shape (batch, seq_length); positions with a number below 0 count
    neither in the loss nor in the metrics. The loss is the mean over all labelled tokens of the batch.

    Args:
      labels: the label names in id order, at least two.
      settings: those of `TokenClassificationSettings`.

    Attributes:
      tag_by_label: label -> its tag with BIOES's letters; None where labels are no tags of entities.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, TokenClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = TokenClassification(["O", "B-PER", "I-PER"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 7, 3), 'probabilities': (2, 7, 3)}

    Reference: arXiv 1810.04805, section 5.3.
    """

    name = "token_classification"
    settings_class = TokenClassificationSettings
    row_settings = ("document_context", "doc_stride")
    loss_settings = OF_TRAINING
    not_in_answers = (*loss_settings, "document_context", "head", "layers", "lstm_size")
    collected = (LABEL_FEATURE, WORD_FEATURE, _PREDICTED)
    checkpoint = CheckpointKind("BertForTokenClassification", has_labels=True)
    files = task_files(name)
    serving_class = _Serving
    page_class = WordPage

    def __init__(self, labels, **settings):
        super().__init__(**settings)
        self.labels = require_label_names(labels)
        if len(self.labels) < 2:
            raise ValueError(f"token classification needs at least two labels, received {list(self.labels)}.")
        self.settings.check_labels(self.labels)
        self.loss = OneLabelLoss(self.labels, self.settings)
        self.tag_by_label = labels_in_bioes(self.labels)
        self.best_metric = "f1" if self.tag_by_label else "token_accuracy"

    def get_config(self):
        return {"labels": list(self.labels), **super().get_config()}

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"labels": dataset.labels}

    @property
    def parts(self):
        return self.settings.parts or token_head("token_classification", has_labels=True)

    @property
    def tags(self) -> list[str] | None:
        """The tag of each label id, with BIOES's letters; None where labels are no tags."""
        return [self.tag_by_label[label] for label in self.labels] if self.tag_by_label else None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of entities, sorted; none where labels are no tags."""
        return tuple(sorted({split_tag(tag)[1] for tag in self.tags or ()} - {""}))

    # ------------------------------------------------------------------------------- examples

    def check_examples(self, examples, max_seq_length):
        """Refuses a step that would leave words between two windows out."""
        long_texts.require_stride(max_seq_length, self.settings.doc_stride)

    def check_training(self, config, examples):
        """Raises ValueError for an encoder with fewer layers than the head reads, and for trained layers
        above those: no gradient reaches them. Warns of words that are found in no raw text."""
        words = [word for example in examples or () for word in example.words]
        if sum(_UNSPACED_WORD.fullmatch(word) is not None for word in words) > len(words) / _FEW:
            warn_once(
                "the training file has words of scripts without blanks, which raw text does not show: there "
                "each ideograph is a word, and each run of kana or of Thai, Lao, Burmese or Khmer letters. "
                "Scores are those of the file's words; the signature `words` of an export takes such."
            )
        highest = max(self.settings.layer_numbers(config.encoder))
        num_layers, frozen = config.encoder.num_hidden_layers, config.frozen.layers if config.frozen else 0
        if highest < num_layers and not config.freeze_encoder and (config.lora or frozen < num_layers):
            raise ValueError(
                f"task_settings.layers={self.settings.layers!r} reads nothing above layer {highest} of "
                f"{num_layers}, so the layers above cannot be trained; set freeze_encoder=true, or "
                "task_settings.layers=last."
            )

    def features(self, max_seq_length):
        labels = Feature("int32", (max_seq_length,))
        return encoder_features(max_seq_length) | {LABEL_FEATURE: labels, WORD_FEATURE: labels}

    def examples_to_features(self, examples, text_inputs):
        """The windows of sentences; see `SentenceRows`."""
        label_ids = {label: index for index, label in enumerate(self.labels)}
        rows = SentenceRows(self.windows(text_inputs), label_ids, self.settings.document_context)
        return ExampleFeatures(*rows(examples))

    def windows(self, text_inputs) -> WordWindows:
        """The `WordWindows` of these settings."""
        return WordWindows(text_inputs, self.settings.doc_stride)

    def describe(self, row, vocabulary):
        """The tokens of a window, each labelled one with its label."""
        length = int(row["input_mask"].sum())
        tokens = [vocabulary.tokens[index] for index in row["input_ids"][:length]]
        labels = [f" ({self.labels[index]})" if index >= 0 else "" for index in row[LABEL_FEATURE][:length]]
        return [f"example: {' '.join(map(''.join, zip(tokens, labels, strict=True)))}"]

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder):
        """Encoder inputs -> float32 `logits` and `probabilities`, both (batch, seq_length, labels)."""
        settings, config = self.settings, encoder.config
        is_linear = settings.head == LINEAR
        encoder = encoder.with_outputs("sequence_output" if is_linear else "hidden_states")
        inputs = task_model.token_inputs(encoder.input)
        number, policy = len(self.labels), encoder.policy
        if is_linear:
            read = encoder(inputs)["sequence_output"]
            head = classification_head.TokenClassificationHead(
                config, number, dtype=policy, name="token_classification"
            )
            logits = head(read)
        else:
            states = encoder(inputs)["hidden_states"]
            layers = [states[number] for number in settings.layer_numbers(config)]
            read = vectors = ops.concatenate(layers, axis=-1) if len(layers) > 1 else layers[0]
            if settings.mixes:
                vectors = bilstm_head.ScalarMix(len(layers), dtype=policy, name=MIX)(read)
            tagger = bilstm_head.BiLstmHead(config, number, settings.lstm_size, dtype=policy, name=TAGGER)
            logits = tagger(vectors, inputs["input_mask"])
        outputs = {"logits": logits, "probabilities": ops.softmax(logits, axis=-1)}
        return task_model.TaskModel(self, encoder, inputs, outputs, read)

    def loss_weights(self, batch, training=False):
        return {"loss": ops.sum(self._weights(batch, training)) + _EPSILON}

    def loss_sums(self, outputs, batch, training=False):
        batch = _as_long_as(outputs["logits"], batch)
        losses = self.loss.losses(outputs["logits"], _label_ids(batch), training)
        return {"loss": ops.sum(losses * self._weights(batch, training))}

    def _weights(self, batch, training):
        return self.loss.weights(_token_weights(batch), _label_ids(batch), training)

    def soft_targets(self, outputs, batch):
        batch = _as_long_as(outputs["logits"], batch)
        return {"loss": (SoftTarget(outputs["logits"], _token_weights(batch)),)}

    # ------------------------------------------------------------------------------- scores

    def metric_sums(self, outputs, batch):
        batch = _as_long_as(outputs["logits"], batch)
        weights = _token_weights(batch)
        right = correct(outputs["logits"], _label_ids(batch))
        return {"token_accuracy": (ops.sum(right * weights), ops.sum(weights))}

    def label_masks(self, labels, batch):
        return {name: ids >= 0 for name, ids in labels.items() if len(ids.shape) == 2}  # no one-hot rows

    def collect(self, outputs, batch):
        """`label_ids`, `word_ids` and each token's predicted label, int32 of shape (rows, max_seq_length)."""
        predicted = ops.cast(ops.argmax(outputs["logits"], axis=-1), "int32")
        return {
            LABEL_FEATURE: batch[LABEL_FEATURE],
            WORD_FEATURE: batch[WORD_FEATURE],
            _PREDICTED: pad_tokens(predicted, batch),
        }

    def score(self, examples, predictions):
        """Entities over whole sentences, put together from their windows.

        `precision`, `recall` and `f1` as conlleval and seqeval's default mode, `strict_...` as its strict
        mode; `entity_counts`: for each of `types` how many entities were right, predicted and true.
        """
        if self.tags is None:
            return {}
        columns = (predictions.values[name] for name in self.collected)
        return entity_metrics(sentences_from_rows(*columns), self.tags, self.types)

    def baseline(self, batches, vocabulary):
        """What it scores to give every word the most frequent label: O, as a rule, and so no entity."""
        counts = np.zeros(len(self.labels), np.int64)
        for batch in batches:
            labels = batch[LABEL_FEATURE]
            counts += np.bincount(labels[labels >= 0], minlength=len(self.labels))
        baseline = {"baseline_token_accuracy": float(counts.max() / max(1, counts.sum()))}
        if self.tags and self.labels[counts.argmax()] == OUTSIDE:
            baseline["baseline_f1"] = 0.0
        return baseline

    def report(self, metrics):
        """Scores of each type of entities, and of all."""
        if "entity_counts" not in metrics:
            return []
        counts = metrics["entity_counts"]
        total = [sum(column) for column in zip(*counts, strict=True)]
        return label_rows("entities", (*self.types, "all"), (*counts, total))


def _as_long_as(logits, batch):
    """The batch with labels cut where its inputs were: what was cut off is padding."""
    return batch | {LABEL_FEATURE: batch[LABEL_FEATURE][:, : ops.shape(logits)[1]]}


def _label_ids(batch):
    return ops.maximum(batch[LABEL_FEATURE], 0)


def _token_weights(batch):
    """float32 (batch, seq_length): 1 at labelled tokens of real examples."""
    labelled = ops.cast(batch[LABEL_FEATURE] >= 0, "float32")
    return labelled * ops.expand_dims(example_weights(batch), 1)
