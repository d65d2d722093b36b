"""The settings of pretraining records, with their defaults and checks."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kbert.bounds import Bounds
from kbert.checks import check_values
from kbert.features import Feature, pretraining_features
from tfrecords_tools.corpus.documents import TextFormat

SHORTEST_SEQUENCE = 8
_LONGEST_SEQUENCE = 65_535  # lengths are kept in two bytes


@dataclass(frozen=True)
class PretrainingSettings:
    """The settings, named as the flags; defaults are those of the original create_pretraining_data.py.

    Args:
      do_lower_case: as for `vocabulary_source.read_source`.
      max_seq_length: length of the sequences, special tokens included.
      max_predictions_per_seq: most masked tokens in a sequence.
      dupe_factor: how many times to go over the corpus, with new masks.
      masked_lm_prob: share of the tokens to mask.
      short_seq_prob: of pairs: probability that a document makes shorter sequences.
      do_whole_word_mask: mask all tokens of a word or none of them.
      max_ngram_size: mask runs of up to this many words (of tokens, without `do_whole_word_mask`).
      pairing: sentence_pairs: a text and its real next text or a random one. full_sentences: running text
        without pairs (RoBERTa's). sentence_order: two neighbouring texts, in order or swapped (ALBERT's).
      masking: static: masks are stored in the records. dynamic: training draws new masks in every epoch.
      deduplicate: drop documents that occurred before. exact: word for word, whatever the case and white
        space.
      text_field: the key of the text in JSONL files.
      split_sentences: language code, such as 'en', of running text to cut into sentences.
      errors: what to do with lines that are not UTF-8 or not JSON.
      seed: the same seed gives the same bytes, whatever the number of workers.
      num_shards: how many TFRecord files.
      compression: compression of the TFRecord files.

    Raises:
      ValueError: for numbers that make no sense, alone or together; as `TextFormat`.
    """

    do_lower_case: bool | None = None
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    dupe_factor: Annotated[int, Bounds(1)] = 10
    masked_lm_prob: Annotated[float, Bounds(above=0, below=1)] = 0.15
    short_seq_prob: Annotated[float, Bounds(0, 1)] = 0.1
    do_whole_word_mask: bool = False
    max_ngram_size: int = 1
    pairing: Literal["sentence_pairs", "full_sentences", "sentence_order"] = "sentence_pairs"
    masking: Literal["static", "dynamic"] = "static"
    deduplicate: Literal["none", "exact"] = "none"
    text_field: str = "text"
    split_sentences: str = ""
    errors: Literal["fail", "skip"] = "fail"
    seed: Annotated[int, Bounds(0)] = 12345
    num_shards: Annotated[int, Bounds(1)] = 8
    compression: Literal["none", "gzip"] = "none"

    def __post_init__(self):
        check_values(self)
        if not SHORTEST_SEQUENCE <= self.max_seq_length <= _LONGEST_SEQUENCE:
            raise ValueError(
                f"max_seq_length={self.max_seq_length} must lie between {SHORTEST_SEQUENCE} (two texts "
                f"and three special tokens) and {_LONGEST_SEQUENCE}, and is usually 128 or 512."
            )
        if not 1 <= self.max_predictions_per_seq <= self.max_seq_length - 3:
            raise ValueError(
                f"max_predictions_per_seq={self.max_predictions_per_seq} must lie between 1 and "
                f"max_seq_length - 3 = {self.max_seq_length - 3}; max_seq_length x masked_lm_prob = "
                f"{max(1, self._wanted())} is a good choice."
            )
        if not self.has_pairs and self.short_seq_prob != PretrainingSettings.short_seq_prob:
            raise ValueError(
                f"short_seq_prob={self.short_seq_prob} has no effect with pairing={self.pairing!r}, which "
                "fills every sequence; leave it out."
            )
        if not 1 <= self.max_ngram_size <= self.max_predictions_per_seq:
            raise ValueError(
                f"max_ngram_size={self.max_ngram_size} must lie between 1 and max_predictions_per_seq="
                f"{self.max_predictions_per_seq}; ALBERT has 3."
            )
        self.text_format()

    def text_format(self) -> TextFormat:
        """How to read the corpus. Raises ValueError as `TextFormat`, also where a package is missing."""
        return TextFormat(self.text_field, self.split_sentences, self.errors)

    def _wanted(self):
        return round(self.max_seq_length * self.masked_lm_prob)

    def warnings(self) -> list[str]:
        """A sentence for each: long sequences with fewer masks than asked for; copies of the same text."""
        sentences = []
        if self.max_predictions_per_seq < self._wanted():
            sentences.append(
                f"max_predictions_per_seq={self.max_predictions_per_seq} is below max_seq_length x "
                f"masked_lm_prob = {self._wanted()}: long sequences are masked less than asked for."
            )
        if self.masking == "dynamic" and not self.has_pairs and self.dupe_factor > 1:
            sentences.append(
                f"dupe_factor={self.dupe_factor} writes the text so many times, but masking='dynamic' draws "
                f"new masks in every epoch: dupe_factor=1 takes 1/{self.dupe_factor} of the space."
            )
        return sentences

    @property
    def has_pairs(self) -> bool:
        """Whether an example is two texts with a label."""
        return self.pairing != "full_sentences"

    def features(self) -> dict[str, Feature]:
        """The features of the records."""
        return pretraining_features(
            self.max_seq_length,
            self.max_predictions_per_seq,
            with_masks=self.masking == "static",
            with_next_sentence=self.has_pairs,
        )
