"""Warns of texts that a vocabulary hardly knows: their predictions come from [UNK]."""

from collections.abc import Mapping, Sequence

from absl import logging

_MOSTLY = 0.5


class UnknownTokens:
    """Counts the examples of which more than half of the tokens are unknown.

    Args:
      text_inputs: the `TextInputs` of the model.
    """

    def __init__(self, text_inputs):
        self._unknown = text_inputs.vocabulary.special_tokens.unk
        self._shares = text_inputs.unknown_shares
        self._seen, self._numbers = 0, []

    def count(self, examples: Sequence[Mapping], numbers: Sequence[int]):
        """Counts a batch: examples, which are dicts of texts and lists of texts, and their numbers."""
        texts = [" ".join(_texts(example)) for example in examples]
        shares = self._shares(texts)
        self._seen += len(examples)
        self._numbers += [number for number, share in zip(numbers, shares, strict=True) if share > _MOSTLY]

    def warn(self) -> bool:
        """Logs a warning where there were such examples, and says whether."""
        if self._numbers:
            logging.warning(
                "most tokens of %d of %d examples are %s, first in example %d: the vocabulary does not know "
                "their words, so answers about them mean little.",
                len(self._numbers), self._seen, self._unknown, min(self._numbers),
            )  # fmt: skip
        return bool(self._numbers)


def _texts(example):
    for name, value in example.items():
        if name != "id":
            yield from [value] if isinstance(value, str) else value
