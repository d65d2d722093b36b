"""The keys that kbert adds to another house's config file, for what that file has no word for.

transformers and google-research/bert keep keys that they do not know and look at their own alone.
"""

from dataclasses import dataclass

from kbert.checkpoints.bert_checkpoint import BertCheckpoint

VOCABULARY_SIZE = "kbert_vocabulary_size"
UNTRAINED = "kbert_untrained"


@dataclass(frozen=True)
class OwnKeys:
    """What kbert wrote down.

    Args:
      vocabulary_size: the number of pieces, beside a larger token table; None when not recorded.
      untrained: kbert names of variables that were never trained and so are not in the file.
    """

    vocabulary_size: int | None = None
    untrained: tuple[str, ...] = ()

    def may_be_missing(self) -> dict[str, str]:
        return {name: "never trained, says the config" for name in self.untrained}


def take_own_keys(values: dict, path) -> OwnKeys:
    """Removes kbert's keys from a config's object. Raises ValueError for impossible values."""
    size, untrained = values.pop(VOCABULARY_SIZE, None), values.pop(UNTRAINED, [])
    if not (size is None or isinstance(size, int)):
        raise ValueError(f"{path}: {VOCABULARY_SIZE} should be a number, received {size!r}.")
    if not (isinstance(untrained, list) and all(isinstance(name, str) for name in untrained)):
        raise ValueError(f"{path}: {UNTRAINED} should be a list of names, received {str(untrained)[:60]}.")
    return OwnKeys(size, tuple(untrained))


def own_keys(checkpoint: BertCheckpoint) -> dict:
    """The keys to add to the config file that is written for `checkpoint`; often none."""
    values = {}
    if len(checkpoint.vocabulary) < checkpoint.encoder.vocab_size:
        values[VOCABULARY_SIZE] = len(checkpoint.vocabulary)
    if checkpoint.missing:
        values[UNTRAINED] = list(checkpoint.missing)
    return values
