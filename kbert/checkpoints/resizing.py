"""A checkpoint with more positions or another vocabulary; kbert.table_resizing says what new rows hold."""

import dataclasses

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.files.stored_tensor import stored_array
from kbert.table_resizing import (
    OUTPUT_BIAS,
    POSITION_TABLE,
    WORD_TABLE,
    resize_positions,
    resize_vocabulary,
)
from kbert.tokenization.vocabulary import Vocabulary


def with_positions(checkpoint: BertCheckpoint, max_position_embeddings: int) -> BertCheckpoint:
    """The same model with another longest sequence.

    Args:
      checkpoint: any checkpoint.
      max_position_embeddings: rows of the new position table; more of them repeat the trained ones.

    Raises:
      ValueError: for a length below 1, or beyond what `EncoderConfig` takes.
    """
    had = checkpoint.encoder.max_position_embeddings
    # The config knows how many there may be, and is asked before the table is made.
    encoder = dataclasses.replace(checkpoint.encoder, max_position_embeddings=max_position_embeddings)
    arrays = resize_positions(_read(checkpoint, POSITION_TABLE), max_position_embeddings)
    longest = checkpoint.max_seq_length
    longest = max_position_embeddings if longest == had else min(longest, max_position_embeddings)
    return _with_tables(
        checkpoint,
        arrays,
        f"position table resized from {had} to {max_position_embeddings} rows",
        encoder=encoder,
        max_seq_length=longest,
    )


def with_vocabulary(checkpoint: BertCheckpoint, vocabulary: Vocabulary) -> BertCheckpoint:
    """The same model for another vocabulary: tokens of both keep their numbers, new ones get the mean.

    Args:
      checkpoint: any checkpoint.
      vocabulary: the new vocabulary, of the same casing.

    Raises:
      ValueError: for another casing, or when fewer than half of the new tokens are known to the model.
    """
    old = checkpoint.vocabulary
    if vocabulary.do_lower_case != old.do_lower_case:
        raise ValueError(
            f"the new vocabulary has do_lower_case={vocabulary.do_lower_case}, {checkpoint.source} has "
            f"{old.do_lower_case}: the same words would be other pieces; keep the casing."
        )
    kept = sum(token in old.ids for token in vocabulary.tokens)
    if 2 * kept < len(vocabulary):
        raise ValueError(
            f"only {kept} of the new vocabulary's {len(vocabulary)} tokens are known to {checkpoint.source}; "
            "extend its own vocabulary, or train from scratch."
        )
    arrays = resize_vocabulary(_read(checkpoint, WORD_TABLE, OUTPUT_BIAS), old.tokens, vocabulary.tokens)
    return _with_tables(
        checkpoint,
        arrays,
        f"token table resized from {len(old)} to {len(vocabulary)} tokens: {kept} kept, "
        f"{len(vocabulary) - kept} new with the mean of the old ones",
        encoder=dataclasses.replace(checkpoint.encoder, vocab_size=len(vocabulary)),
        vocabulary=vocabulary,
    )


def _read(checkpoint, *names):
    return {name: checkpoint.tensors[name].read() for name in names if name in checkpoint.tensors}


def _with_tables(checkpoint, arrays, note, **changes):
    report = dataclasses.replace(checkpoint.report, notes=[*checkpoint.report.notes, note])
    tensors = checkpoint.tensors | {name: stored_array(array) for name, array in arrays.items()}
    return dataclasses.replace(checkpoint, tensors=tensors, report=report, **changes)
