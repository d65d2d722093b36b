"""Rows of an encoder's tables that no training has reached: warnings where a model comes to read them."""

from kbert.cli.warn_once import warn_once
from kbert.config import EncoderConfig


def warn_of_positions(source, encoder: EncoderConfig, trained: int | None, max_seq_length: int):
    """Warns where texts may be longer than all that have trained a model with a table of positions.

    A model that began with random weights has random rows behind them: the last phase of BERT's own training,
    on 512 tokens, is there to learn them (google-research/bert, README.md, "Pre-training tips and caveats").

    Args:
      source: what the user named.
      encoder: that of the model.
      trained: see `RunDirectory.trained_positions`.
      max_seq_length: the longest sequence to be read, in tokens.
    """
    if trained and encoder.num_position_rows and max_seq_length > trained:
        warn_once(
            f"{source}: no text of more than {trained} tokens has trained it, so its positions from {trained} "
            f"on are as they began, and max_seq_length={max_seq_length} reads texts with these. Pretrain it "
            f"further on records of that length first, or give max_seq_length={trained}."
        )
