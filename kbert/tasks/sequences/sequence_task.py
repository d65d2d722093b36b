"""The base class of tasks on one text or a pair of texts; subclasses add labels, losses and metrics."""

from collections.abc import Callable

import keras
import numpy as np
from absl import logging

from kbert.features import WINDOW_FEATURE, Feature, encoder_features
from kbert.heads.classification_head import ClassificationHead
from kbert.heads.parts import pooled_head
from kbert.input_pipelines import labelled_files, text_reader
from kbert.tasks.sequences.settings import CUT, HEAD_TAIL, LongTextSettings
from kbert.tasks.signatures.signature import TRUNCATED, Signature, ids_signature, texts_signature
from kbert.tasks.task import NUM_TOKENS, ExampleFeatures, Predictions, Task
from kbert.tasks.task_model import TaskModel


class SequenceTask(Task):
    """One text, or a pair of texts -> a row of numbers from the pooled output.

    A text that is too long is cut, or, by the settings, becomes several rows: windows of it. Each window then
    learns the label of its text; the loss counts windows, and scores and answers are of texts.

    Args:
      takes_pairs: whether examples are pairs; None when this is not known, then both are accepted.
      settings: those of the `settings_class`, by name.

    Attributes:
      head: the name of the head's layer.
      answered: the names of the output and the label that `score` needs.
      kind: see `pool_windows`; None for numbers.
      read_label: the function that reads a label, see kbert/input_pipelines/labelled_files.py.
    """

    settings_class: type = LongTextSettings
    row_settings = ("long_texts", "doc_stride")
    settings: LongTextSettings
    answered: tuple[str, str]
    kind: str | None = None
    head: str
    read_label: Callable = staticmethod(labelled_files.class_label)

    def __init__(self, takes_pairs: bool | None = None, **settings):
        self.takes_pairs = takes_pairs
        self.settings = self.settings_class(**settings)

    @property
    def collected(self):
        return (*self.answered, WINDOW_FEATURE) if self.settings.in_windows else self.answered

    @property
    def cuts_long_texts(self):
        return self.settings.long_texts == CUT

    @property
    def num_outputs(self) -> int:
        """The number of logits for each text."""
        raise NotImplementedError

    @property
    def inputs(self):
        return ("text", "text_pair") if self.takes_pairs else ("text",)

    @property
    def row_texts(self):
        return self.inputs if self.cuts_long_texts else ()

    @property
    def other_inputs(self):
        return {"pair": ("text", "text_pair")} if self.takes_pairs is None else {}

    @property
    def parts(self):
        return pooled_head(self.head, self.num_outputs, has_labels=bool(getattr(self, "labels", ())))

    @classmethod
    def read_examples(cls, path, dataset, with_labels=True):
        """`LabelledText`s of a TSV, CSV or JSONL file or a table; see `labelled_files.stream_rows`."""
        return labelled_files.stream_rows(path, dataset, with_labels, cls.read_label)

    def texts_of(self, example):
        return (example.text,) if example.text_pair is None else (example.text, example.text_pair)

    def check_examples(self, examples, max_seq_length):
        """Refuses a length without room for windows, and a step that would leave pieces out."""
        if self.settings.in_windows:
            from kbert.tokenization.long_texts import require_windows

            require_windows(max_seq_length, self.settings.doc_stride)

    def examples_to_features(self, examples, text_inputs):
        """Encoder inputs, int32 of shape (rows, max_seq_length), and the labels; one row for each example, or
        for each of its windows, with `window_numbers`."""
        features = text_reader.tokenize_rows(examples, self._reader(text_inputs))
        owners, labels = np.arange(len(examples)), self.label_features(examples)
        if self.settings.in_windows:
            owners = self._owners(features[WINDOW_FEATURE])
            labels = {name: values[owners] for name, values in labels.items()}
        return ExampleFeatures(features | labels, owners)

    def _reader(self, text_inputs):
        """The function from texts to encoder inputs, see kbert/tokenization/long_texts.py."""
        if self.settings.long_texts == CUT:
            return text_inputs
        from kbert.tokenization.long_texts import HeadAndTailInputs, WindowInputs

        if self.settings.long_texts == HEAD_TAIL:
            return HeadAndTailInputs(text_inputs)
        return WindowInputs(text_inputs, self.settings.doc_stride)

    def _owners(self, window_numbers) -> np.ndarray:
        from kbert.tokenization.long_texts import window_owners

        return window_owners(window_numbers).numpy()

    def label_features(self, examples) -> dict[str, np.ndarray]:
        """The labels: name -> array of shape (examples, ...)."""
        raise NotImplementedError

    def features(self, max_seq_length):
        numbers = {WINDOW_FEATURE: Feature("int32", ())} if self.settings.in_windows else {}
        return encoder_features(max_seq_length) | numbers

    def pooled_logits(self, encoder):
        """(symbolic inputs, float32 logits of shape (batch, num_outputs)) of the model."""
        config = encoder.config
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in encoder.input}
        head = ClassificationHead(
            num_labels=self.num_outputs,
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name=self.head,
        )
        return inputs, head(encoder(inputs)["pooled_output"])

    def build_model(self, encoder):
        inputs, logits = self.pooled_logits(encoder)
        return TaskModel(self, encoder, inputs, self.outputs_of(logits))

    def outputs_of(self, logits) -> dict:
        """The outputs of the model, computed from the logits: name -> tensor."""
        raise NotImplementedError

    def logits_of(self, outputs: dict):
        """The logits, float32 (batch, num_outputs), of the outputs of the model."""
        raise NotImplementedError

    def outputs_of_texts(self, outputs: dict, window_numbers) -> dict:
        """The outputs of texts, name -> tensor, from those of their windows; see `pool_windows`."""
        import tensorflow as tf

        from kbert.tasks.sequences.window_pooling import pool_windows
        from kbert.tokenization.long_texts import window_owners

        owners = window_owners(window_numbers)
        number = tf.reduce_max(tf.concat([owners, [-1]], axis=0)) + 1
        logits = self.logits_of(outputs)
        return self.outputs_of(pool_windows(logits, owners, number, self.settings.window_pooling, self.kind))

    def by_text(self, predictions: Predictions) -> Predictions:
        """Predictions with one row for each text: pooled outputs, its labels, the tokens of all windows."""
        if not self.settings.in_windows:
            return predictions
        values = dict(predictions.values)
        numbers = values.pop(WINDOW_FEATURE)
        owners = self._owners(numbers)
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        if torn := int((numbers[first] > 0).sum()):
            logging.warning(
                "%d of %d texts lack their first windows: scores of texts need records in the order of their "
                "file (made without --shuffle).", torn, len(first),
            )  # fmt: skip
        pooled = {n: np.asarray(value) for n, value in self.outputs_of_texts(values, numbers).items()}
        texts = {name: value[first] for name, value in values.items()} | pooled
        if NUM_TOKENS in values:
            texts[NUM_TOKENS] = np.add.reduceat(values[NUM_TOKENS], first)
        return Predictions(texts, np.arange(len(first)))

    def of_texts(self, batch: dict, name: str) -> np.ndarray:
        """A label of a batch of arrays, once for each text."""
        return batch[name][batch[WINDOW_FEATURE] == 0] if self.settings.in_windows else batch[name]

    def served(self, outputs: dict) -> dict:
        """The outputs of a signature, computed from those of the model."""
        return dict(outputs)

    def example_signature(self, texts: Signature) -> tuple[str, Signature]:
        """The name and the signature for Classify or Regress, from one that takes texts."""
        raise NotImplementedError

    def signatures(self, model, text_inputs):
        """`serving_default` takes `text` (string [batch]), and also `text_pair` if examples are pairs; where
        that is not known, `pair` takes both. `ids` takes `input_ids`, `input_mask` and `segment_ids` (int32
        [batch, length]): a row each, which are not pooled. `example_signature` takes tf.Examples with the
        same texts; its name ends in `_pair` where `pair` is its origin."""
        read = self._reader(text_inputs)

        def answer_ids(inputs):
            return self.served(model(inputs, training=False))

        def answer_text(text, text_pair=None):
            rows, truncated = read.rows(text, text_pair)
            rows = dict(rows)
            numbers = rows.pop(WINDOW_FEATURE, None)
            outputs = model(rows, training=False)
            if numbers is not None:
                outputs = self.outputs_of_texts(outputs, numbers)
            return self.served(outputs) | {TRUNCATED: truncated}

        by_texts = {
            name: texts_signature(inputs, answer_text)
            for name, inputs in ({"serving_default": self.inputs} | self.other_inputs).items()
        }
        signatures = by_texts | {"ids": ids_signature(answer_ids, model, text_inputs)}
        for name, texts in by_texts.items():
            kind, signature = self.example_signature(texts)
            signatures[kind if name == "serving_default" else f"{kind}_{name}"] = signature
        return signatures
