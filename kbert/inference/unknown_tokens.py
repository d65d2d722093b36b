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
        self._seen, self._num_unknown, self._first = 0, 0, ""

    def count(self, examples: Sequence[Mapping]):
        """Counts a batch of examples, which are dicts of texts and lists of texts."""
        texts = [" ".join(_texts(example)) for example in examples]
        shares = self._shares(texts)
        self._seen += len(examples)
        unknown = [text for text, share in zip(texts, shares, strict=True) if share > _MOSTLY]
        self._num_unknown += len(unknown)
        self._first = self._first or "".join(unknown[:1])[:60]

    def warn(self) -> bool:
        """Logs a warning where there were such examples, and says whether."""
        if self._num_unknown:
            logging.warning(
                "most tokens of %d of the %d examples looked at are %s, such as %r: the vocabulary does not "
                "know their words, so answers about them mean little.",
                self._num_unknown, self._seen, self._unknown, self._first,
            )  # fmt: skip
        return self._num_unknown > 0


def _texts(example):
    for name, value in example.items():
        if name != "id":
            yield from [value] if isinstance(value, str) else value
