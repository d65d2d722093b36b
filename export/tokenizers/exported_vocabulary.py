"""The vocabulary of an exported folder, with the rules that stand in its kbert.json."""

from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece
from kbert.tokenization.vocabulary_files import read_vocabulary

from ..folder_names import ABOUT_FILE


def exported_vocabulary(folder: str | Path) -> Vocabulary:
    """The `Vocabulary` of a folder that `export_tflite` wrote.

    Raises:
      ValueError: for a missing file, a kbert.json without casing, and a vocabulary that is not the one
        described there, or none of WordPieces.
    """
    about_file = Path(folder) / ABOUT_FILE
    recorded = json_value(read_json_object(about_file), "vocabulary", dict, about_file, {})
    if not isinstance(recorded.get("do_lower_case"), bool):
        raise ValueError(
            f"{about_file} does not say the casing: expected vocabulary.do_lower_case, true or false; give "
            "a folder that export_tflite wrote."
        )
    return require_wordpiece(read_vocabulary(folder, recorded), "the tokenizer without TensorFlow")
