"""Pretraining records, from the folder to the batches; what does not fit is refused without TensorFlow."""

from kbert.features import MASK_FEATURES, NEXT_SENTENCE_LABELS, PRETRAINING_RECORDS, pretraining_features
from kbert.input_pipelines.records.record_folder import RecordFolder


class PretrainingRecords(RecordFolder):
    """A folder that tfrecords_tools.create_pretraining_data has made.

    Args:
      directory: the folder.

    Attributes:
      directory, manifest: as given and read.

    Raises:
      ValueError: when the folder holds no finished set of records, or records of another kind.
    """

    def __init__(self, directory):
        super().__init__(directory)
        if self.manifest.kind != PRETRAINING_RECORDS:
            raise ValueError(
                f"{directory} holds records of kind {self.manifest.kind!r}, not pretraining records."
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
        """Whether they hold pairs of texts and what they are to each other."""
        return NEXT_SENTENCE_LABELS in self.manifest.features

    def require_like(self, other: "PretrainingRecords"):
        """Raises ValueError unless what `other` trains can be evaluated, or trained on, here as well."""
        self.require_vocabulary(other.directory, other.manifest.vocabulary)
        if other.next_sentence and not self.next_sentence:
            raise ValueError(
                f"{self.directory} holds no {NEXT_SENTENCE_LABELS}, which {other.directory} trains; make "
                "its records with the same --strategy."
            )

    def require_room(self, encoder):
        """Raises ValueError when an `EncoderConfig` has too few positions or pieces for them."""
        if self.max_seq_length > encoder.max_position_embeddings:
            raise ValueError(
                f"{self.directory} has max_seq_length={self.max_seq_length}, but the encoder has only "
                f"max_position_embeddings={encoder.max_position_embeddings}; make shorter records or a "
                "longer position table."
            )
        size = self.manifest.vocabulary["size"]
        if size > encoder.vocab_size:
            raise ValueError(
                f"the records' vocabulary has {size} pieces, but the encoder's vocab_size is "
                f"{encoder.vocab_size}: ids would fall outside its table."
            )

    def require_one_batch(self, batch_size: int):
        """Raises ValueError when they are fewer than one batch."""
        from kbert.input_pipelines.records import record_reader

        record_reader.require_one_batch(self.directory, self.manifest, batch_size)
