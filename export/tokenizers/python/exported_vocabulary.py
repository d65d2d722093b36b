"""The vocabulary of an exported folder, with the casing that stands in its kbert.json."""

from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.tokenization.vocabulary import Vocabulary

from ...folder_names import ABOUT_FILE, VOCABULARY_FILE


def exported_vocabulary(folder: str | Path) -> Vocabulary:
    """The `Vocabulary` of a folder that `export_tflite` wrote.

    Raises:
      ValueError: for a missing file, a kbert.json without casing, and what makes no vocabulary.
    """
    about_file = Path(folder) / ABOUT_FILE
    recorded = read_json_object(about_file).get("vocabulary")
    casing = recorded.get("do_lower_case") if isinstance(recorded, dict) else None
    if not isinstance(casing, bool):
        raise ValueError(
            f"{about_file} does not say the casing: expected vocabulary.do_lower_case, true or false; give "
            "a folder that export_tflite wrote."
        )
    return Vocabulary.from_file(Path(folder) / VOCABULARY_FILE, casing)
