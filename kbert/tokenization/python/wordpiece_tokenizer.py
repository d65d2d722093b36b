"""Words -> WordPiece ids: greedy longest match first."""

from kbert.tokenization.greedy_match import GreedyMatcher
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
      >>> from kbert.tokenization.python.wordpiece_tokenizer import WordPieceTokenizer
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> WordPieceTokenizer(vocabulary)("Playing chess")
      [5, 6, 1]
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        # No word begins with ##, as pieces inside of words do: it is punctuation, and so split off.
        self._ids = vocabulary.ids
        self._match = GreedyMatcher(self._ids)
        self._splitting = vocabulary.rules.splitting
        self._longest_word = vocabulary.rules.max_input_chars_per_word

    def __call__(self, text: str) -> list[int]:
        words = split_words(text, **self._splitting)
        return [index for word in words for index in self._pieces(word)]

    def tokenize_with_masks(self, text: str) -> list[int]:
        """As a call, but each literal mask token in the text becomes its id."""
        first, *others = map(self, text.split(self.vocabulary.special_tokens.mask))
        return first + [index for part in others for index in [self.vocabulary.mask_id, *part]]

    def _pieces(self, word) -> list[int]:
        if len(word) > self._longest_word:
            return [self.vocabulary.unk_id]
        pieces = self._match(word)
        return [self._ids[piece] for piece in pieces] if pieces else [self.vocabulary.unk_id]
