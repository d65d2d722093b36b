"""Hugging Face folders that may also be sentence-transformers': the encoder with its pooling."""

import dataclasses
from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.hugging_face.folder import read_hugging_face, write_hugging_face
from kbert.checkpoints.hugging_face.sentence_transformers import (
    MODULES_FILE,
    is_sentence_transformers,
    read_sentence_modules,
    write_sentence_modules,
)
from kbert.checkpoints.report import Report
from kbert.config.pooling_config import PoolingConfig


def read_folder(
    path, do_lower_case: bool | None = None, allowance: Allowance | None = None
) -> BertCheckpoint:
    """Reads a folder of transformers; if it is one of sentence-transformers, also pooling and length.

    Args:
      path, do_lower_case: see `read_hugging_face`.
      allowance: `modules.json` reads the encoder alone, whatever modules stand behind it.

    Raises:
      ValueError: as `read_hugging_face` and `read_sentence_modules` do; for a cased vocabulary of texts that
        are lower-cased, and for a length beyond the encoder's positions.
    """
    allowance = allowance or Allowance()
    if not is_sentence_transformers(path) or MODULES_FILE in allowance:
        return read_hugging_face(path, do_lower_case, allowance)
    modules = read_sentence_modules(path)
    # Pooling reads the last layer, so such folders may come without BERT's own pooler.
    checkpoint = read_hugging_face(modules.encoder_folder, do_lower_case, allowance, needs_pooler=False)
    if modules.do_lower_case and not checkpoint.vocabulary.do_lower_case:
        raise ValueError(
            f"{path} lower-cases its texts, but its vocabulary is cased; kbert does not support both at once."
        )
    longest = modules.max_seq_length or checkpoint.max_seq_length
    if longest > checkpoint.encoder.max_position_embeddings:
        raise ValueError(
            f"{path}: max_seq_length={longest}, but the encoder has only "
            f"{checkpoint.encoder.max_position_embeddings} positions."
        )
    pooling = PoolingConfig(modules.pooling, modules.normalize)
    checkpoint.report.note(f"{MODULES_FILE}: pooling {pooling.mode!r}, normalize {pooling.normalize}")
    return dataclasses.replace(checkpoint, source=str(path), max_seq_length=longest, pooling=pooling)


def write_folder(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes a folder of transformers; with a pooling also the files that make it one of
    sentence-transformers, whose `SentenceTransformer(folder).encode` then gives the vectors of `embed`.

    Args, Returns, Raises:
      as for `write_hugging_face`.
    """
    report = write_hugging_face(checkpoint, folder, allowance)
    if checkpoint.pooling is not None:
        length, width = checkpoint.max_seq_length, checkpoint.encoder.hidden_size
        write_sentence_modules(folder, checkpoint.pooling, length, width)
        report.note(f"{MODULES_FILE}: pooling {checkpoint.pooling.mode!r}, for sentence-transformers")
    return report
