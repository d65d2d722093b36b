"""Pretraining records: checks a folder of them (without TensorFlow) and reads batches."""

from kbert.features import MASK_FEATURES, NEXT_SENTENCE_LABELS, PRETRAINING_RECORDS, pretraining_features
from kbert.input_pipelines.records.record_folder import RecordFolder


class PretrainingRecords(RecordFolder):
    """A folder of records made by tfrecords_tools.create_pretraining_data.

    Args:
      directory: the folder.

    Attributes:
      directory, manifest: as given and read.

    Raises:
      ValueError: when the folder holds no complete set of records, or records of another kind.
    """

    def __init__(self, directory):
        super().__init__(directory)
        if self.manifest.kind != PRETRAINING_RECORDS:
            raise ValueError(
                f"{directory} holds records of kind {self.manifest.kind!r}, expected pretraining records; "
                "make them with kbert pretraining-data."
            )
        features = self.manifest.features
        masks = [features[name].shape for name in MASK_FEATURES if name in features]
        expected = pretraining_features(
            self.length,
            masks[0][-1] if masks and masks[0] else 1,
            with_masks=bool(masks),
            with_next_sentence=self.next_sentence,
        )
        self.require_features(expected)

    @property
    def max_seq_length(self) -> int:
        return self.length

    @property
    def next_sentence(self) -> bool:
        """Whether the records hold pairs of texts and a label for their relation."""
        return NEXT_SENTENCE_LABELS in self.manifest.features

    def require_like(self, other: "PretrainingRecords"):
        """Raises ValueError when these records cannot be used for a model that is trained on `other`."""
        self.require_vocabulary(other.directory, other.manifest.vocabulary)
        if other.next_sentence and not self.next_sentence:
            raise ValueError(
                f"{self.directory} holds no {NEXT_SENTENCE_LABELS}, but {other.directory} does; make both "
                "with the same --strategy."
            )

    def require_room(self, encoder):
        """Raises ValueError when an `EncoderConfig` has too few positions or pieces for these records."""
        if self.max_seq_length > encoder.max_position_embeddings:
            raise ValueError(
                f"{self.directory} has max_seq_length={self.max_seq_length}, but the encoder has only "
                f"max_position_embeddings={encoder.max_position_embeddings}; make shorter records, or raise "
                "max_position_embeddings."
            )
        size = self.manifest.vocabulary["size"]
        if size > encoder.vocab_size:
            raise ValueError(
                f"the records' vocabulary has {size} pieces, but the encoder's vocab_size is "
                f"{encoder.vocab_size}; set vocab_size to at least {size}."
            )

    def require_one_batch(self, batch_size: int):
        """Raises ValueError when there are fewer records than one batch."""
        from kbert.input_pipelines.records import record_reader

        record_reader.require_one_batch(self.directory, self.manifest, batch_size)
