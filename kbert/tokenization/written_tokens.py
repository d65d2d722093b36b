"""Special tokens that texts write out. To kbert they are characters, as to google-research/bert; transformers
reads the tokens. Standard library only."""

from collections.abc import Iterable

from kbert.cli.warn_once import warn_once
from kbert.tokenization.base_vocabulary import BaseVocabulary


def say_written_tokens(texts: Iterable, vocabulary: BaseVocabulary, source, reads_masks: bool = False):
    """Warns, once for a source, where a special token is written out in its texts.

    Args:
      texts: texts, or tuples, lists and dicts with texts in them, such as examples.
      vocabulary: the model's.
      source: what the message calls the texts.
      reads_masks: whether a mask in a text is read as one.
    """
    special = vocabulary.special_tokens
    tokens = (special.sep, special.cls, special.pad, special.unk, *(() if reads_masks else (special.mask,)))
    written = (token for text in texts for token in tokens if _holds(text, token))
    if token := next(written, None):
        warn_once(
            f"{source}: texts hold {token} written out, which is read as characters; transformers would read "
            "the special token. The two texts of a pair are text and text_pair."
        )


def _holds(text, token):
    if isinstance(text, str):
        return token in text
    parts = text.values() if isinstance(text, dict) else text if isinstance(text, tuple | list) else ()
    return any(_holds(part, token) for part in parts)
