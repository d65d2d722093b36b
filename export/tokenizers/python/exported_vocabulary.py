"""The vocabulary of an exported folder, as its kbert.json describes it."""

from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary

from ...folder_names import ABOUT_FILE


def exported_vocabulary(folder: str | Path) -> BaseVocabulary:
    """The vocabulary of a folder that `export_tflite` wrote.

    Raises:
      ValueError: for a missing file, a kbert.json without a vocabulary, and other files than were written.
    """
    about_file = Path(folder) / ABOUT_FILE
    recorded = read_json_object(about_file).get("vocabulary")
    if not isinstance(recorded, dict) or "do_lower_case" not in recorded:
        raise ValueError(
            f"{about_file} does not describe the vocabulary; give a folder that export_tflite wrote."
        )
    return read_vocabulary(folder, recorded)
