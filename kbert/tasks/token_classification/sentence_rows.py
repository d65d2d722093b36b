"""Tagged sentences -> rows of features: windows, with the document around them where that is asked for."""

import numpy as np

from kbert.cli.progress import Progress
from kbert.cli.warn_once import warn_once
from kbert.features import LABEL_FEATURE, WORD_FEATURE
from kbert.late_tensorflow import tf
from kbert.tasks.token_classification.tagged_sentences import TaggedSentence
from kbert.tasks.token_classification.word_windows import WordWindows

# Special tokens, padding and all pieces of a word but its first carry no label. Any number below 0 will
# do; this one is the field's (PyTorch's `ignore_index`).
IGNORED_LABEL = -100
NO_WORD = -1  # in `word_ids`
_SENTENCES_AT_ONCE = 1024


class SentenceRows:
    """Makes rows of sentences.

    Args:
      windows: the `WordWindows`.
      label_ids: label -> id.
      document_context: fill what a sentence leaves of its window with the sentences around it, to the left
        and to the right alike, as far as its document goes (arXiv 1810.04805, section 5.3). A sentence that
        does not fit into a window gets none.
    """

    def __init__(self, windows: WordWindows, label_ids: dict[str, int], document_context: bool):
        self._windows = windows
        self._label_ids = label_ids
        self._document_context = document_context

    def __call__(self, sentences: list[TaggedSentence]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(features, owners) as of `ExampleFeatures`.

        The features are the encoder inputs, `label_ids` (`IGNORED_LABEL` where there is no label) and
        `word_ids`, which word of its sentence a labelled token is (-1 elsewhere), all int32 of shape (rows,
        max_seq_length). Every word is labelled once, at its first piece in one window.
        """
        documents = (sentence.document for sentence in sentences)
        if self._document_context and all(len(document.sentences) == 1 for document in documents):
            warn_once(
                "document_context is true, but no document has a second sentence; mark documents by "
                "-DOCSTART- lines, or name the column of documents as dataset.document."
            )
        batches, progress = [], Progress("Tokenized", "sentences", len(sentences))
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            features, owners = self._rows(sentences[start : start + _SENTENCES_AT_ONCE])
            batches.append(features | {"owners": owners + start})
            progress.report(min(start + _SENTENCES_AT_ONCE, len(sentences)))
        joined = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
        owners = joined.pop("owners")
        return joined, owners

    def _rows(self, sentences):
        pieces = self._pieces_by_word(sentences)
        contexts, first_pieces = [], []  # of each sentence: ids, and which of them its words begin with
        for sentence in sentences:
            ids, starts = self._in_context(sentence, pieces)
            contexts.append(ids)
            first_pieces.append(starts)
        lengths = np.array([len(ids) for ids in contexts])
        windows = self._windows.windows(tf.RaggedTensor.from_row_lengths(np.concatenate(contexts), lengths))
        before = np.repeat(lengths.cumsum() - lengths, [len(starts) for starts in first_pieces])
        rows, positions = windows.positions.numpy()[before + np.concatenate(first_pieces)].T
        features = {name: value.numpy() for name, value in windows.features.items()}
        label_ids = np.full_like(features["input_ids"], IGNORED_LABEL)
        word_ids = np.full_like(label_ids, NO_WORD)
        label_ids[rows, positions] = [
            self._label_ids[label] for sentence in sentences for label in sentence.labels
        ]
        word_ids[rows, positions] = np.concatenate([np.arange(len(starts)) for starts in first_pieces])
        return features | {LABEL_FEATURE: label_ids, WORD_FEATURE: word_ids}, windows.owners.numpy()

    def _pieces_by_word(self, sentences) -> dict[str, np.ndarray]:
        """The ids of the pieces of every word that occurs, each tokenized once."""
        words = {word for sentence in sentences for word in sentence.words}
        if self._document_context:
            documents = {id(sentence.document): sentence.document for sentence in sentences}
            words.update(
                word for document in documents.values() for words_ in document.sentences for word in words_
            )
        ordered = sorted(words)
        pieces = self._windows.pieces(tf.constant(ordered, tf.string))
        ids, ends = pieces.flat_values.numpy(), pieces.row_limits().numpy()
        return dict(zip(ordered, np.split(ids, ends[:-1]), strict=True))

    def _in_context(self, sentence, pieces):
        """(ids of the sentence and of what is around it, which of them its words begin with)."""
        own = [pieces[word] for word in sentence.words]
        lengths = np.array([len(ids) for ids in own])
        starts = lengths.cumsum() - lengths
        free = self._windows.room - int(lengths.sum())
        if not self._document_context or free <= 0:
            return np.concatenate(own), starts
        sentences, index = sentence.document.sentences, sentence.position
        left = _nearest((reversed(words) for words in reversed(sentences[:index])), pieces, free)[::-1]
        right = _nearest(sentences[index + 1 :], pieces, free)
        before = np.concatenate([*left, own[0][:0]])
        after = np.concatenate([*right, own[0][:0]])
        # Half for each side, and more where the other has less.
        num_left = min(len(before), max((free + 1) // 2, free - len(after)))
        num_right = min(len(after), free - num_left)
        before = before[len(before) - num_left :]
        return np.concatenate([before, *own, after[:num_right]]), starts + num_left


def _nearest(sentences, pieces, number):
    """The pieces of the words of sentences, from the first on, until there are enough."""
    nearest, total = [], 0
    for words in sentences:
        for word in words:
            nearest.append(pieces[word])
            total += len(nearest[-1])
            if total >= number:
                return nearest
    return nearest
