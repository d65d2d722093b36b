"""A text with several possible continuations -> the right one."""

import numpy as np

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, Feature
from kbert.heads import multiple_choice_head
from kbert.heads.parts import pooled_head
from kbert.input_pipelines import labelled_files, text_reader
from kbert.late_tensorflow import tf
from kbert.tasks import task_model
from kbert.tasks.file_columns import signature_inputs, task_files
from kbert.tasks.losses import correct, cross_entropies, example_mean, example_sum, example_weights
from kbert.tasks.pages.content import Card, Cards, Fact, Mark, MarkedText, Section, excerpt, shortened
from kbert.tasks.pages.labels import accuracy_sections, most_probable, worst_indices, worst_note
from kbert.tasks.pages.page import Page
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.example_signature import CLASSIFY, classify_signature
from kbert.tasks.signatures.signature import TRUNCATED, Signature, ids_signature
from kbert.tasks.signatures.token_id_checks import assertion
from kbert.tasks.task import CheckpointKind, ExampleFeatures, SoftTarget, Task
from kbert.tasks.temperature import CalibrationSettings, Temperature


class _Page(Page):
    shown = ("probabilities", LABEL_FEATURE)

    def example_sections(self, examples, predictions, most_examples):
        """Calibration, accuracy by length, and the most confident errors with all their choices."""
        probabilities = predictions.values["probabilities"]
        predicted, sure, is_right = most_probable(predictions)
        sections = accuracy_sections(predictions, "the predicted choice")
        if examples is None:
            return sections
        indices = worst_indices(sure, is_right, most_examples)
        cards = [_card(examples[index], int(predicted[index]), probabilities[index]) for index in indices]
        return [
            *sections,
            Section("The most confident errors", worst_note(is_right, len(cards)), Cards(cards)),
        ]


class _Serving(Serving):
    inputs, _ = signature_inputs("multiple_choice")
    answers = ("choice", "choice_text", "probabilities")

    def signatures(self, model, text_inputs):
        """`serving_default`: `text` (string [batch]) and `choices` (string [batch, choices]) -> `logits` and
        `probabilities` (float32 [batch, choices]), `choice` (int64 [batch]), the index of the most probable
        choice, and `choice_text` (string [batch]). `ids` takes the encoder inputs (int32 [batch, choices,
        length]), as many choices as training had, and has no `choice_text`. `classify`: the choices of an
        Example are its classes."""

        def answer_ids(inputs):
            outputs = model(inputs, training=False)
            return dict(outputs) | {"choice": tf.argmax(outputs["logits"], axis=-1)}

        def answer_text(text, choices):
            number = tf.shape(choices)[1]
            data = ["choices must have one text or more for each example; received", number]
            with tf.control_dependencies([assertion(number > 0, data)]):
                choices = tf.identity(choices)
            rows, truncated = text_inputs.rows(tf.repeat(text, number), tf.reshape(choices, [-1]))
            shape = tf.concat([tf.shape(choices), tf.shape(rows["input_ids"])[1:]], axis=0)
            outputs = answer_ids({name: tf.reshape(value, shape) for name, value in rows.items()})
            return outputs | {
                "choice_text": tf.gather(choices, outputs["choice"], batch_dims=1),
                TRUNCATED: tf.reduce_any(tf.reshape(truncated, tf.shape(choices)), axis=1),
            }

        inputs = {"text": ("string", (None,)), "choices": ("string", (None, None))}
        texts = Signature(inputs, answer_text)
        return {
            "serving_default": texts,
            # LiteRT files need fixed shapes.
            "ids": ids_signature(answer_ids, model, text_inputs, (None, self.task.num_choices)),
            CLASSIFY: classify_signature(texts, lambda outputs, inputs: inputs["choices"]),
        }

    def same_answers(self, outputs, expected, batch):
        """For each example whether the choice is the same."""
        return np.argmax(outputs["logits"], axis=-1) == np.argmax(expected["logits"], axis=-1)

    def answer(self, outputs, inputs):
        """The index of the most probable choice, its text, and the probability of every choice."""
        return {
            "choice": int(outputs["choice"]),
            "choice_text": outputs["choice_text"].decode("utf-8"),
            "probabilities": [float(p) for p in outputs["probabilities"]],
        }


class MultipleChoice(Task):
    """Which of several texts is right: a softmax over one logit for each pair of text and choice.

    A file has one column for the text, one for each choice (`dataset.choices`), and one for the label: the
    index of the right choice, from 0, or the name of its column. If `dataset.text_pair` names a column, its
    text is put before each choice, like the beginning of the second sentence in SWAG. The encoder inputs have
    shape (batch, choices, seq_length); the feature `label_ids` is int32 of shape (batch,).

    Args:
      num_choices: the number of choices; None allows any number, but then examples make no features.
      settings: those of `CalibrationSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, MultipleChoice
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = MultipleChoice().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 4, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 4), 'probabilities': (2, 4)}

    Reference: arXiv 1810.04805, section 4.4 (SWAG).
    """

    name = "multiple_choice"
    settings_class = CalibrationSettings
    best_metric = "accuracy"
    no_scores = ("temperature",)
    collected = ("logits", LABEL_FEATURE)
    chooses = ("temperature",)
    can_pack = False  # the choices of an example are rows that belong together
    checkpoint = CheckpointKind("BertForMultipleChoice")
    files = task_files(name)
    serving_class = _Serving
    page_class = _Page
    parts = pooled_head("multiple_choice")

    def __init__(self, num_choices: int | None = None, **settings):
        super().__init__(**settings)
        self.num_choices = num_choices
        self.temperature = Temperature(self.settings.temperature)

    @property
    def texts_per_example(self):
        return self.num_choices or 1

    def get_config(self):
        return {"num_choices": self.num_choices, **super().get_config()}

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"num_choices": len(dataset.choices) or None}

    def features(self, max_seq_length):
        shape = (self.num_choices or -1, max_seq_length)
        return {name: Feature("int32", shape) for name in ENCODER_INPUTS} | {
            LABEL_FEATURE: Feature("int32", ())
        }

    def examples_to_features(self, examples, text_inputs):
        """Encoder inputs, int32 of shape (rows, choices, max_seq_length), and `label_ids`."""
        pairs = [
            labelled_files.LabelledText(example.text, choice, None)
            for example in examples
            for choice in example.choices
        ]
        shape = (len(examples), self.num_choices or -1, text_inputs.max_seq_length)
        features = {
            name: values.reshape(shape)
            for name, values in text_reader.tokenize_rows(pairs, text_inputs).items()
        }
        features[LABEL_FEATURE] = np.asarray([example.label for example in examples], np.int32)
        return ExampleFeatures(features, np.arange(len(examples)))

    def describe(self, row, vocabulary):
        right = row[LABEL_FEATURE]
        describe = super().describe
        choices = [{name: row[name][n] for name in ENCODER_INPUTS} for n in range(len(row["input_ids"]))]
        lines = [describe(choice, vocabulary)[0] for choice in choices]
        return [f"{line}{' -> right' if n == right else ''}" for n, line in enumerate(lines)]

    def build_model(self, encoder):
        """Encoder inputs of each choice -> float32 `logits` and `probabilities`, both (batch, choices)."""
        encoder = encoder.with_outputs("pooled_output")
        inputs = task_model.token_inputs(ENCODER_INPUTS, None)
        as_batch = multiple_choice_head.ChoicesAsBatch(name="choices_as_batch")
        encoded = encoder({name: as_batch(value) for name, value in inputs.items()})
        head = multiple_choice_head.MultipleChoiceHead(
            encoder.config, dtype=encoder.policy, name="multiple_choice"
        )
        logits = head(encoded["pooled_output"], inputs["input_ids"])
        outputs = {"logits": logits, "probabilities": self.temperature.probabilities(logits)}
        return task_model.TaskModel(self, encoder, inputs, outputs)

    def loss_sums(self, outputs, batch, training=False):
        return {"loss": example_sum(cross_entropies(outputs["logits"], batch[LABEL_FEATURE]), batch)}

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["logits"], example_weights(batch)),)}

    def metric_sums(self, outputs, batch):
        return {"accuracy": example_mean(correct(outputs["logits"], batch[LABEL_FEATURE]), batch)}

    def score(self, examples, predictions):
        """See `Temperature.metrics`."""
        return self.temperature.metrics(*(predictions.values[name] for name in self.collected))

    def chosen(self, metrics):
        """The temperature."""
        return {"temperature": metrics["chosen_temperature"]}

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy`: the accuracy of always choosing the index that is right most often."""
        ids = np.concatenate([batch[LABEL_FEATURE] for batch in batches])
        return {"baseline_accuracy": float(np.bincount(ids).max() / len(ids))}


def _card(example, predicted, probabilities):
    texts = [excerpt(MarkedText("", example.text))]
    for index, choice in enumerate(example.choices):
        kind = "right" if index == example.label else "wrong" if index == predicted else None
        text = shortened(choice)
        marks = (Mark(0, len(text), kind),) if kind and text else ()
        texts.append(MarkedText(f"{index}, {probabilities[index]:.1%}", text, marks))
    facts = (
        Fact("right", str(example.label), True),
        Fact("predicted", f"{predicted}, {np.max(probabilities):.1%}", False),
    )
    return Card(tuple(texts), facts)
