"""Sections for a label for every word: entities in colours, right beside given."""

from collections.abc import Sequence

import numpy as np

from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.calibration import calibration_section
from kbert.tasks.pages.content import Card, Cards, Fact, Mark, MarkedText, Section, excerpt
from kbert.tasks.pages.labels import confusion_section, note_of_worst, worst_places
from kbert.tasks.token_classification.entity_scores import find_entities
from kbert.tasks.token_classification.sentence_scores import sentences_of_rows
from kbert.tasks.token_classification.tag_schemes import split_tag

CONFIDENCE = "confidences"  # collected: the probability of each token's predicted label


class WordSections:
    """Makes the sections of an evaluation.

    Args:
      labels: the names of the labels in id order.
      tags: the tag in IOB2 of each label id, where labels are tags of entities; None otherwise.
      types: the types of entities, which give the colours.
    """

    def __init__(self, labels: Sequence[str], tags: Sequence[str] | None, types: Sequence[str]):
        self._labels = labels
        self._tags = tags
        self._types = types
        # With entities the page tells types from types: B and I of one type are one name.
        self._name_of = [split_tag(tag)[1] or "O" for tag in tags] if tags else list(labels)

    def __call__(self, examples, values: dict, most_examples: int) -> list[Section]:
        """The sections.

        Args:
          examples: `TaggedSentence`s; None where there are only features.
          values: `label_ids`, `word_ids`, `predicted_ids` and `confidences`, (rows, seq_length) each.
          most_examples: how many sentences with errors to show.
        """
        rows = [values[name] for name in ("label_ids", "word_ids", "predicted_ids")]
        sentences = list(sentences_of_rows(*rows))
        sure = [pair[0] for pair in sentences_of_rows(values[CONFIDENCE], *rows[1:])]
        words_right = [true == given for true, given in sentences]
        is_right = np.array([bool(right.all()) for right in words_right])
        sections = [
            self._confusion(sentences),
            calibration_section(
                np.concatenate(sure), np.concatenate(words_right), "the given label of a word"
            ),
            by_length(
                [len(right) for right in words_right],
                is_right,
                "word",
                "Sentences without any error",
                of="a sentence",
            ),
        ]
        if examples is None:
            return sections
        pairs = zip(sure, words_right, strict=True)
        worst = [float(np.max(where[~right], initial=0.0)) for where, right in pairs]
        places = worst_places(worst, is_right, most_examples)
        cards = [self._card(examples[place], *sentences[place], worst[place]) for place in places]
        note = note_of_worst(is_right, len(cards))
        return [*sections, Section("The most confident errors", note, Cards(cards))]

    def _confusion(self, sentences):
        names = list(dict.fromkeys(self._name_of))
        places = np.array([names.index(name) for name in self._name_of])
        counts = np.zeros((len(names), len(names)), np.int64)
        for true, given in sentences:
            np.add.at(counts, (places[true], places[given]), 1)
        return confusion_section(names, counts, "words")

    def _card(self, example, true, given, sure):
        texts = tuple(
            excerpt(MarkedText(name, " ".join(example.words), self._marks(example.words, name, ids, other)))
            for name, ids, other in (("right", true, given), ("given", given, true))
        )
        return Card(texts, (Fact("most confident wrong word", f"{sure:.1%}"),))

    def _marks(self, words, name, ids, other):
        """The entities; of labels that are no tags those that the other labels differ from."""
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        if self._tags:
            found = find_entities([self._tags[place] for place in ids])
            return tuple(
                Mark(int(starts[one.start]), int(starts[one.end] - 1), self._types.index(one.type), one.type)
                for one in found
            )
        kind = "right" if name == "right" else "wrong"
        return tuple(
            Mark(int(starts[place]), int(starts[place + 1] - 1), kind, str(self._labels[ids[place]]))
            for place in range(len(words))
            if ids[place] != other[place]
        )
