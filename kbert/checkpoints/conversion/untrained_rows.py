"""Rows of an encoder's tables that no training has reached: warnings where a model comes to read them."""

import collections

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.resizing import WORD_TABLE
from kbert.cli.warn_once import warn_once
from kbert.config import EncoderConfig
from kbert.tokenization.casing import NO_TEXT


def warn_of_positions(source, encoder: EncoderConfig, trained: int | None, longest: int):
    """Warns where texts may be longer than all that have trained a model with a table of positions.

    A model that began with random weights has random rows behind them: the last phase of BERT's own training,
    on 512 tokens, is there to learn them (google-research/bert, README.md, "Pre-training tips and caveats").

    Args:
      source: what the user named.
      encoder: that of the model.
      trained: see `RunDirectory.trained_positions`.
      longest: the longest sequence to be read, in tokens.
    """
    if trained and encoder.num_position_rows and longest > trained:
        warn_once(
            f"{source}: no text of more than {trained} tokens has trained it, so its positions from "
            f"{trained} on are as they began, and sequences of {longest} tokens have these. Pretrain it "
            f"further on records of that length first, or keep to {trained} tokens."
        )


def warn_of_equal_tokens(checkpoint: BertCheckpoint):
    """Warns where a training that keeps the table of tokens starts from tokens with one vector.

    All new tokens of an extended vocabulary begin as the mean of the old ones (`resizing.with_vocabulary`),
    and only an update of the table parts them.
    """
    tokens_of = collections.defaultdict(list)
    for token, row in zip(checkpoint.vocabulary.tokens, checkpoint.tensors[WORD_TABLE].read(), strict=False):
        if not NO_TEXT.fullmatch(token):
            tokens_of[hash(row.tobytes())].append(token)  # the bytes would be a second table in memory
    alike = max(tokens_of.values(), key=len, default=[])
    if len(alike) > 1:
        warn_once(
            f"{checkpoint.source}: {len(alike):,} tokens have one and the same vector, such as "
            f"{alike[0]!r} and {alike[1]!r}, as the new ones of an extended vocabulary begin. This training "
            "keeps the table of tokens, so it cannot tell them apart: pretrain the model further first, or "
            "train all weights."
        )
