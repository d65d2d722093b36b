"""Tagged sentences -> rows with a vector of each layer for every word: that of the word's first piece."""

import numpy as np

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, WORD_FEATURE, layer_feature
from kbert.tasks.task import VectorsAt
from kbert.tasks.token_classification.sentence_rows import IGNORED_LABEL, NO_WORD, SentenceRows
from kbert.tasks.token_classification.tagged_sentences import TaggedSentence

_SENTENCES_AT_ONCE = 256


class WordRows:
    """Makes rows of sentences: a row holds one sentence, or a part of a sentence that is longer than a row.

    Args:
      sentence_rows: makes the windows of pieces that the encoder sees.
      vectors_at: asks the encoder.
      row_length: words of a row.
    """

    def __init__(self, sentence_rows: SentenceRows, vectors_at: VectorsAt, row_length: int):
        self._sentence_rows = sentence_rows
        self._vectors_at = vectors_at
        self._row_length = row_length

    def __call__(self, sentences: list[TaggedSentence]) -> tuple[dict, np.ndarray]:
        """(features, owners) as of `ExampleFeatures`.

        `input_ids` (the first piece of each word), `input_mask`, `segment_ids`, `label_ids` and `word_ids`:
        int32 of shape (rows, row_length). `layer_output_i` for every layer: a list of float32 arrays of shape
        (words of the row, hidden_size).
        """
        rows, owners = [], []
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            part = sentences[start : start + _SENTENCES_AT_ONCE]
            for number, words in enumerate(self._words_of(part), start):
                for first in range(0, len(words["word_ids"]), self._row_length):
                    rows.append({name: v[first : first + self._row_length] for name, v in words.items()})
                    owners.append(number)
        return self._columns(rows), np.array(owners)

    def _words_of(self, sentences):
        """Yields for each sentence name -> array with an entry for each of its words."""
        windows, owners = self._sentence_rows(sentences)
        places = np.argwhere(windows[WORD_FEATURE] >= 0)
        inputs = {name: windows[name] for name in ENCODER_INPUTS}
        words = {name: windows[name][tuple(places.T)] for name in ("input_ids", LABEL_FEATURE, WORD_FEATURE)}
        words["vectors"] = self._vectors_at(inputs, places)
        # A word stands in the window that shows most around it, so words and windows have the same order.
        ends = np.cumsum(np.bincount(owners[places[:, 0]], minlength=len(sentences)))
        for begin, end in zip([0, *ends], ends, strict=False):
            yield {name: values[begin:end] for name, values in words.items()}

    def _columns(self, rows):
        shape = (len(rows), self._row_length)
        columns: dict = {name: np.zeros(shape, np.int32) for name in ENCODER_INPUTS}
        columns[LABEL_FEATURE] = np.full(shape, IGNORED_LABEL, np.int32)
        columns[WORD_FEATURE] = np.full(shape, NO_WORD, np.int32)
        for number, row in enumerate(rows):
            length = len(row[WORD_FEATURE])
            columns["input_mask"][number, :length] = 1
            for name in ("input_ids", LABEL_FEATURE, WORD_FEATURE):
                columns[name][number, :length] = row[name]
        for layer in range(rows[0]["vectors"].shape[1]):
            columns[layer_feature(layer)] = [row["vectors"][:, layer] for row in rows]
        return columns
