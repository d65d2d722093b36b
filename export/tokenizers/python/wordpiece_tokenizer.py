"""Words -> WordPiece ids: greedy longest match first."""

from kbert.tokenization.vocabulary import Vocabulary

from .word_splitter import split_words


class WordPieceTokenizer:
    """The ids of a text, as kbert's `WordPieceTokenizer` gives them in the graph.

    Args:
      vocabulary: the `Vocabulary` with its rules.

    Call arguments:
      text: str.

    Returns:
      list of ids, without [CLS] and [SEP].

    Examples:
      >>> from kbert import Vocabulary
      >>> from export.tokenizers.python.wordpiece_tokenizer import WordPieceTokenizer
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> WordPieceTokenizer(vocabulary)("Playing chess")
      [5, 6, 1]
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._first = vocabulary.ids  # no word begins with ##: it is punctuation, and so split off
        self._inner = {token[2:]: index for token, index in vocabulary.ids.items() if token.startswith("##")}
        self._longest = max(map(len, vocabulary.tokens))
        self._splitting = vocabulary.rules.splitting
        self._longest_word = vocabulary.rules.max_input_chars_per_word

    def __call__(self, text: str) -> list[int]:
        words = split_words(text, **self._splitting)
        return [index for word in words for index in self._pieces(word)]

    def _pieces(self, word) -> list[int]:
        if len(word) > self._longest_word:
            return [self.vocabulary.unk_id]
        if word in self._first:
            return [self._first[word]]
        pieces, start = [], 0
        while start < len(word):
            known = self._inner if start else self._first
            ends = range(min(len(word), start + self._longest), start, -1)
            end = next((end for end in ends if word[start:end] in known), None)
            if end is None:
                return [self.vocabulary.unk_id]
            pieces.append(known[word[start:end]])
            start = end
        return pieces
