"""What a set of records holds, counted batch by batch: lengths, masks, pieces, labels.

Everything is a sum of counts, so statistics of shards add up to those of the whole set in any order. A
batch costs a few passes of NumPy over its arrays, far less than making or reading it.
"""

from collections.abc import Mapping

import numpy as np

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, WINDOW_FEATURE, WORD_FEATURE, Feature
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.python.packing import second_texts

STATISTICS_FILE_NAME = "statistics.json"
PAGE_FILE_NAME = "statistics.html"
MOST_PIECES_SHOWN = 50
EXAMPLES_KEPT = 4
NEVER_MASKED = "never_masked"  # in `counts`: how many records no mask that is drawn later can fit


class RecordStatistics:
    """Counts over records of one kind; picklable, and small beside a batch.

    Args:
      features: name -> `Feature` of the records, as in kbert/features.py or a manifest.
      vocabulary: the `Vocabulary` of their ids. It is not kept: workers send statistics back and forth.

    Attributes:
      counts: name -> int64 array of counts, the whole state. Save them with `np.savez` and pass them to
        `add` to resume an interrupted run.
      examples: the first few examples seen, dicts of arrays by feature name.

    Examples:
      statistics = RecordStatistics(manifest.features, vocabulary)
      for batch in batches:
          statistics.update(batch)
      json.dumps(statistics.to_json(vocabulary))
    """

    def __init__(self, features: Mapping[str, Feature], vocabulary: BaseVocabulary):
        self.max_seq_length = features["input_ids"].shape[-1]
        self.has_masks = "masked_lm_ids" in features
        self.has_next_sentence = "next_sentence_labels" in features
        self.has_labels = LABEL_FEATURE in features
        self._has_windows = WINDOW_FEATURE in features
        self.counts: dict[str, np.ndarray] = {}
        self.examples: list[dict[str, np.ndarray]] = []
        self._names = tuple(features)
        self._vocab_size = len(vocabulary)
        self._mask_id, self._pad_id = vocabulary.mask_id, vocabulary.pad_id
        self._sep_id, self._pair_separators = vocabulary.sep_id, vocabulary.pair_separators

    def update(self, batch: Mapping[str, np.ndarray]):
        """Counts a batch.

        Args:
          batch: for each feature an array of shape [batch, *shape of the feature]. Other features may be
            present; they are not counted. Ids are those of the vocabulary.
        """
        # An example may have several sequences, such as the choices of multiple choice.
        inputs = {name: np.asarray(batch[name]).reshape(-1, self.max_seq_length) for name in ENCODER_INPUTS}
        input_ids, lengths = inputs["input_ids"], inputs["input_mask"].sum(axis=1)
        second = second_texts(inputs, self._sep_id, self._pair_separators).sum(axis=1)
        before = np.where(second > 0, self._pair_separators, 1)
        pieces = np.bincount(input_ids.ravel(), minlength=self._vocab_size)
        pieces[self._pad_id] -= input_ids.size - lengths.sum()
        self.add(
            {
                "records": np.array([len(batch["input_ids"])]),
                "lengths": np.bincount(lengths),
                # Without [CLS] and the separators.
                "first_lengths": np.bincount(np.maximum(lengths - second - 1 - before, 0)),
                "second_lengths": np.bincount(second - (second > 0)),
                "shown_pieces": pieces,
            }
        )
        if self.has_masks:
            self._count_masks(batch, input_ids)
        for row in range(min(EXAMPLES_KEPT - len(self.examples), len(batch["input_ids"]))):
            self.examples.append({name: np.array(batch[name][row]) for name in self._names})
        if self.has_next_sentence:
            self.add({"next_sentence": np.bincount(np.ravel(batch["next_sentence_labels"]), minlength=2)})
        if self.has_labels:
            self.add({"labels": self._label_counts(batch)})

    def _label_counts(self, batch):
        labels = np.asarray(batch[LABEL_FEATURE])
        if self._has_windows:  # a text counts once, as in its file, however many windows it has
            labels = labels[np.asarray(batch[WINDOW_FEATURE]) == 0]
        if WORD_FEATURE in self._names:
            labels = labels[np.asarray(batch[WORD_FEATURE]) >= 0]
        return np.bincount(labels) if labels.ndim == 1 else labels.sum(axis=0)

    def _count_masks(self, batch, input_ids):
        is_real = np.asarray(batch["masked_lm_weights"]) > 0
        positions = np.asarray(batch["masked_lm_positions"])
        shown = np.take_along_axis(input_ids, positions, axis=1)[is_real]
        answers = np.asarray(batch["masked_lm_ids"])[is_real]
        is_mask = shown == self._mask_id
        is_unchanged = (shown == answers) & ~is_mask
        num_mask, num_unchanged = np.count_nonzero(is_mask), np.count_nonzero(is_unchanged)
        self.add(
            {
                "mask_positions": np.bincount(positions[is_real]),
                "masks_per_record": np.bincount(is_real.sum(axis=1)),
                "masked_pieces": np.bincount(answers, minlength=self._vocab_size),
                "pieces_at_masks": np.bincount(shown, minlength=self._vocab_size),
                "mask_kinds": np.array([num_mask, num_unchanged, len(shown) - num_mask - num_unchanged]),
            }
        )

    def add(self, counts: Mapping[str, np.ndarray]):
        """Adds counts under their names; of two arrays of counts, the shorter one is padded with zeros."""
        for name, more in counts.items():
            old = self.counts.get(name)
            if old is None:
                self.counts[name] = np.array(more, np.int64)
            elif len(old) >= len(more):
                old[: len(more)] += more
            else:
                grown = np.array(more, np.int64)
                grown[: len(old)] += old
                self.counts[name] = grown

    def merge(self, other: "RecordStatistics"):
        """Adds the statistics of later records of the same kind."""
        self.add(other.counts)
        self.examples += other.examples[: EXAMPLES_KEPT - len(self.examples)]

    def to_json(self, vocabulary: BaseVocabulary) -> dict:
        """What statistics.json holds: totals, shares and histograms as plain lists, index = value.

        Args:
          vocabulary: the same as before, for the names of pieces.

        Returns:
          dict with `records`, `sequences` (more than records where an example has several, such as choices),
          `max_seq_length`, `tokens` (without padding), `fill_rate` (their share of all positions of the
          sequences), `text_tokens` (without special tokens; a mask counts as the piece that it hides),
          `unknown_tokens`, `unknown_share`, `pieces_used`, `vocab_size`, `lengths` (of the sequences),
          `longest` (the length that one of 1,000 sequences reaches), `first_lengths`, `second_lengths`,
          `frequent_pieces` ([piece, count] pairs); and, where the records have them, `masking`
          (`predictions`, `share` of the `tokens`, which masked_lm_prob sets,
          `shown_as_mask`, `shown_unchanged`, `shown_random`, `positions`, `per_record`, `most_masked`),
          `next_sentence` ([zeros, ones]) and `labels` (counts in id order, of words where these have labels;
          a text in several windows counts once).
        """
        counts = self.counts
        num_sequences = int(self._total("lengths"))
        reached = np.cumsum(self._histogram("lengths")[::-1])[::-1]  # by a length: sequences of it or more
        tokens = int(np.arange(self.max_seq_length + 1) @ self._histogram("lengths"))
        pieces = self._pieces()
        unknown_tokens = int(pieces[vocabulary.unk_id])
        special = vocabulary.special_tokens
        pieces[[vocabulary.ids[token] for token in special if token != special.unk]] = 0
        text_tokens = int(pieces.sum())
        values = {
            "records": int(self._total("records")),
            "sequences": num_sequences,
            "max_seq_length": self.max_seq_length,
            "tokens": tokens,
            "fill_rate": share(tokens, num_sequences * self.max_seq_length),
            "text_tokens": text_tokens,
            "unknown_tokens": unknown_tokens,
            "unknown_share": share(unknown_tokens, text_tokens),
            "vocab_size": self._vocab_size,
            "pieces_used": int(np.count_nonzero(pieces)),
            "lengths": self._histogram("lengths").tolist(),
            "longest": int(np.flatnonzero(reached * 1000 >= num_sequences)[-1]),
            "first_lengths": self._histogram("first_lengths").tolist(),
            "second_lengths": self._histogram("second_lengths").tolist(),
            "frequent_pieces": _most_frequent(pieces, vocabulary),
        }
        if self.has_masks:
            masked = self._histogram("masked_pieces", self._vocab_size)
            num_masked = int(masked.sum())
            shown_as_mask, shown_unchanged, shown_random = self._histogram("mask_kinds", 3).tolist()
            values["masking"] = {
                "predictions": num_masked,
                "share": share(num_masked, tokens),
                "shown_as_mask": shown_as_mask,
                "shown_unchanged": shown_unchanged,
                "shown_random": shown_random,
                "positions": self._histogram("mask_positions", self.max_seq_length).tolist(),
                "per_record": self._histogram("masks_per_record", 1).tolist(),
                "most_masked": _most_frequent(masked, vocabulary),
            }
        if self.has_next_sentence:
            values["next_sentence"] = self._histogram("next_sentence", 2).tolist()
        if self.has_labels:
            values["labels"] = counts.get("labels", np.zeros(0, np.int64)).tolist()
        return values

    def word_shares(self, vocabulary: BaseVocabulary) -> dict[str, float]:
        """What masks of whole words make of the text, as shares.

        Returns:
          `inner_share`, of the tokens that continue a word; and where it is known
          `without_predictions_share`, of the records without a token to predict.
        """
        pieces = self._pieces()
        special = [vocabulary.ids[token] for token in vocabulary.special_tokens]
        is_inner = np.array(list(map(vocabulary.continues_word, vocabulary.tokens)))
        is_inner[special] = False
        shares = {"inner_share": share(pieces[is_inner].sum(), pieces.sum() - pieces[special].sum())}
        without = self.counts.get("masks_per_record", self.counts.get(NEVER_MASKED))
        if without is not None:
            shares["without_predictions_share"] = share(int(without[0]), int(self._total("records")))
        return shares

    def _pieces(self):
        """How often each piece stands in the text as it was, special tokens included."""
        pieces = self._histogram("shown_pieces", self._vocab_size).copy()
        if self.has_masks:
            pieces += self._histogram("masked_pieces", self._vocab_size)
            pieces -= self._histogram("pieces_at_masks", self._vocab_size)
        return pieces

    def _total(self, name):
        return self.counts[name].sum() if name in self.counts else 0

    def _histogram(self, name, size=None):
        """The counts of a name, padded with zeros to the number of possible values."""
        size = self.max_seq_length + 1 if size is None else size
        counts = self.counts.get(name, np.zeros(0, np.int64))
        return np.pad(counts, (0, max(0, size - len(counts))))


def share(count, total) -> float:
    """Their quotient, rounded to 6 digits; 0 of nothing."""
    return round(count / total, 6) if total else 0.0


def _most_frequent(counts, vocabulary):
    """The most frequent pieces as [piece, count], the more frequent first and equals in id order."""
    order = np.argsort(-counts, kind="stable")[:MOST_PIECES_SHOWN]
    return [[vocabulary.tokens[index], int(counts[index])] for index in order if counts[index]]
