"""Labelled examples or a folder of records -> rows."""

from typing import Any

import numpy as np

from kbert.input_pipelines.batches import Rows
from kbert.input_pipelines.data_files import shown_source
from kbert.input_pipelines.records.record_reader import RecordRows
from kbert.input_pipelines.text_reader import RowsInMemory
from kbert.tokenization.unknown_pieces import warn_of_unknown_pieces
from kbert.tokenization.written_tokens import looked_at, say_written_tokens


def make_rows(source, task: Any = None, text_inputs=None) -> Rows:
    """The rows of a source. Examples of a file are tokenized now; records are read with the batches.

    Args:
      source: a `LabelledFile`; or a `RecordFolder`, which holds rows and needs nothing else.
      task: the `Task`, which may keep what it needs of the tokenization to score.
      text_inputs: the `TextInputs` of the model.

    Raises:
      ValueError: as `Task.examples_to_features` does.
    """
    if source.manifest:
        return RecordRows(source.directory, source.manifest, source.in_turn)
    say_written_tokens(source.examples, text_inputs.vocabulary, shown_source(source.path))
    list(looked_at(source.examples, text_inputs.vocabulary, shown_source(source.path)))
    features, owners = task.examples_to_features(source.examples, text_inputs)
    unknown = np.sum(features["input_ids"] == text_inputs.vocabulary.unk_id)
    share = unknown / max(1, np.sum(features["input_mask"]))
    token = text_inputs.vocabulary.special_tokens.unk
    warn_of_unknown_pieces(share, token, shown_source(source.path))
    return RowsInMemory(features, owners, task.files.texts_apart(source.examples), source.path)
