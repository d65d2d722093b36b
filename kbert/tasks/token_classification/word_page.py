"""The page of an evaluation of a label for every word: entities in colours, right beside given."""

import numpy as np

from kbert.features import LABEL_FEATURE
from kbert.late_tensorflow import ops
from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.calibration import calibration_section
from kbert.tasks.pages.content import Card, Cards, Fact, Mark, MarkedText, Section, excerpt
from kbert.tasks.pages.labels import confusion_section, scores_by_label, worst_indices, worst_note
from kbert.tasks.pages.page import Page
from kbert.tasks.token_classification.entity_scores import find_entities, sentences_from_rows
from kbert.tasks.token_classification.tag_schemes import split_tag

CONFIDENCE = "confidences"  # collected: the probability of each token's predicted label


class WordPage(Page):
    """Of a `TokenClassification`. With entities the page tells types from types: B and I are one name."""

    def __init__(self, task):
        super().__init__(task)
        outside = "(outside)" if "O" in task.types else "O"  # which may be a type of entities
        self._names = [split_tag(tag)[1] or outside for tag in task.tags] if task.tags else list(task.labels)

    def collect(self, outputs, batch):
        """With the probability of each token's predicted label, float32 of shape (rows, max_seq_length)."""
        confidences = ops.max(outputs["probabilities"], axis=-1)
        return super().collect(outputs, batch) | {CONFIDENCE: pad_tokens(confidences, batch)}

    def metric_sections(self, metrics):
        """Precision, recall and F1 of each type of entity."""
        if "entity_counts" not in metrics:
            return []
        counts = np.asarray(metrics["entity_counts"]).reshape(-1, 3)
        return [scores_by_label(self.task.types, *counts.T)]

    def example_sections(self, examples, predictions, most_examples):
        """Confusion, calibration, sentences by length, and those with the most confident errors."""
        values = predictions.values
        rows = [values[name] for name in ("label_ids", "word_ids", "predicted_ids")]
        sentences = list(sentences_from_rows(*rows))
        sure = [pair[0] for pair in sentences_from_rows(values[CONFIDENCE], *rows[1:])]
        words_right = [true == predicted for true, predicted in sentences]
        is_right = np.array([bool(right.all()) for right in words_right])
        sections = [
            self._confusion(sentences),
            calibration_section(
                np.concatenate(sure), np.concatenate(words_right), "the predicted label of a word"
            ),
            by_length(
                [len(right) for right in words_right],
                is_right,
                "word",
                "Sentences without any error",
                subject="a sentence",
            ),
        ]
        if examples is None:
            return sections
        pairs = zip(sure, words_right, strict=True)
        worst = [float(np.max(where[~right], initial=0.0)) for where, right in pairs]
        indices = worst_indices(worst, is_right, most_examples)
        cards = [self._card(examples[index], *sentences[index], worst[index]) for index in indices]
        note = worst_note(is_right, len(cards))
        return [*sections, Section("The most confident errors", note, Cards(cards))]

    def _confusion(self, sentences):
        names = list(dict.fromkeys(self._names))
        name_ids = np.array([names.index(name) for name in self._names])
        counts = np.zeros((len(names), len(names)), np.int64)
        for true, predicted in sentences:
            np.add.at(counts, (name_ids[true], name_ids[predicted]), 1)
        return confusion_section(names, counts, "words")

    def _card(self, example, true, predicted, sure):
        texts = tuple(
            excerpt(MarkedText(name, " ".join(example.words), self._marks(example.words, name, ids, other)))
            for name, ids, other in (("right", true, predicted), ("predicted", predicted, true))
        )
        return Card(texts, (Fact("most confident wrong word", f"{sure:.1%}"),))

    def _marks(self, words, name, ids, other):
        """The entities; of labels that are no tags those that the other labels differ from."""
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        tags, types = self.task.tags, self.task.types
        if tags:
            return tuple(
                Mark(
                    int(starts[entity.start]),
                    int(starts[entity.end] - 1),
                    types.index(entity.type),
                    entity.type,
                )
                for entity in find_entities([tags[index] for index in ids])
            )
        kind = "right" if name == "right" else "wrong"
        return tuple(
            Mark(int(starts[word]), int(starts[word + 1] - 1), kind, str(self.task.labels[ids[word]]))
            for word in range(len(words))
            if ids[word] != other[word]
        )


def pad_tokens(values, batch):
    """Values of tokens with zeros behind where the inputs of the batch were cut: (rows, max_seq_length)."""
    cut_off = ops.zeros_like(batch[LABEL_FEATURE][:, ops.shape(values)[1] :], dtype=values.dtype)
    return ops.concatenate([values, cut_off], axis=1)
