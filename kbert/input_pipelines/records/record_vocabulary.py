"""Reads the vocabulary that records were made with, and compares it with the model's. No TensorFlow."""

from pathlib import Path

from kbert.manifest import VOCABULARY_FILE_NAME, Manifest
from kbert.tokenization.vocabulary import Vocabulary


def read_vocabulary(directory: str | Path, manifest: Manifest) -> Vocabulary:
    """The vocabulary in the folder of the records, with their casing.

    Raises:
      ValueError: when the file is not the vocabulary that the records were made with.
    """
    path = Path(directory) / VOCABULARY_FILE_NAME
    vocabulary = Vocabulary.from_file(path, manifest.vocabulary["do_lower_case"])
    if vocabulary.fingerprint != manifest.vocabulary["fingerprint"]:
        raise ValueError(
            f"{path} (fingerprint {vocabulary.fingerprint}) is not the vocabulary the records were made with "
            f"(fingerprint {manifest.vocabulary['fingerprint']}); make the records again."
        )
    return vocabulary


def require_vocabulary(directory: str | Path, manifest: Manifest, owner, vocabulary: dict):
    """Checks that records were made with a given vocabulary, so that their ids mean the same.

    Args:
      directory, manifest: the records.
      owner: the owner of the vocabulary, for the message: a run directory, a checkpoint or other records.
      vocabulary: its `Vocabulary.describe()`, as manifests and run.json hold it.

    Raises:
      ValueError: when the vocabularies differ; the message has both fingerprints.
    """
    if manifest.vocabulary["fingerprint"] == vocabulary["fingerprint"]:
        return
    casing = {True: "lower-casing", False: "cased"}
    raise ValueError(
        f"{directory} was not made with the vocabulary of {owner}: its fingerprint is "
        f"{manifest.vocabulary['fingerprint']} ({manifest.vocabulary['size']} pieces, "
        f"{casing[manifest.vocabulary['do_lower_case']]}), expected {vocabulary['fingerprint']} "
        f"({vocabulary['size']} pieces, {casing[vocabulary['do_lower_case']]}); make the records again with "
        f"its {VOCABULARY_FILE_NAME} and casing."
    )
