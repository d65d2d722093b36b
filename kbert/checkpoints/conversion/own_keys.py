"""The keys that kbert adds to the config file of another format, for what that format has no key for.

transformers and google-research/bert accept unknown keys and do not use them.
"""

from dataclasses import dataclass

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.model_variables import model_shapes, part_shapes
from kbert.files.json_values import json_count, json_texts
from kbert.heads.parts import POOLER
from kbert.tokenization.vocabulary import Vocabulary

VOCABULARY_SIZE = "kbert_vocabulary_size"
UNTRAINED = "kbert_untrained"
CASING = "kbert_casing_is_known"  # where the casing stands: tokens of another casing are meant


@dataclass(frozen=True)
class OwnKeys:
    """The values of kbert's own keys.

    Args:
      vocabulary_size: the number of pieces, if the token table has more rows; None when not recorded.
      untrained: kbert names of variables that were never trained and so are not in the file.
    """

    vocabulary_size: int | None = None
    untrained: tuple[str, ...] = ()

    def may_be_missing(self) -> dict[str, str]:
        return {name: "never trained, according to the config" for name in self.untrained}


def pop_own_keys(values: dict, path) -> OwnKeys:
    """Removes kbert's keys from a config's object. Raises ValueError for impossible values."""
    own = {key: values.pop(key, None) for key in (VOCABULARY_SIZE, UNTRAINED)}
    size, untrained = json_count(own, VOCABULARY_SIZE, path), json_texts(own, UNTRAINED, path, [])
    return OwnKeys(size, tuple(untrained))


def casing_key(vocabulary: Vocabulary) -> dict:
    """The key to add where the tokens look like those of another casing, as of trimmed vocabularies."""
    return {CASING: True} if vocabulary.other_casing else {}


def own_keys(checkpoint: BertCheckpoint, has_head: bool = True) -> dict:
    """The keys to add to the config file that is written for `checkpoint`; often none.

    Args:
      checkpoint: the model.
      has_head: whether its heads are written, as far as it has any. An encoder alone is read with a pooler.
    """
    values: dict = {}
    if len(checkpoint.vocabulary) < checkpoint.encoder.vocab_size:
        values[VOCABULARY_SIZE] = len(checkpoint.vocabulary)
    untrained = list(checkpoint.missing)
    if not (has_head and checkpoint.parts):
        pooler = model_shapes(checkpoint.encoder, checkpoint.model_task, [POOLER.name])
        pooler = part_shapes(pooler, POOLER.name)
        untrained += [name for name in pooler if name not in (*checkpoint.tensors, *untrained)]
    if untrained:
        values[UNTRAINED] = untrained
    return values
