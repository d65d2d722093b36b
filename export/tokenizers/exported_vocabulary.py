"""The vocabulary of an exported folder, with the rules that stand in its kbert.json."""

from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_texts, json_value
from kbert.tokenization.base_vocabulary import BERT_TOKENS, SpecialTokens
from kbert.tokenization.vocabulary import Vocabulary, read_stripped_lines
from kbert.tokenization.wordpiece_rules import WrongRules, recorded_rules

from ..folder_names import ABOUT_FILE, VOCABULARY_FILE


def exported_vocabulary(folder: str | Path) -> Vocabulary:
    """The `Vocabulary` of a folder that `export_tflite` wrote.

    Raises:
      ValueError: for a missing file, a kbert.json without casing or with other special tokens than
        five texts, and what makes no vocabulary.
    """
    about_file = Path(folder) / ABOUT_FILE
    recorded = json_value(read_json_object(about_file), "vocabulary", dict, about_file, {})
    casing = recorded.get("do_lower_case")
    if not isinstance(casing, bool):
        raise ValueError(
            f"{about_file} does not say the casing: expected vocabulary.do_lower_case, true or false; give "
            "a folder that export_tflite wrote."
        )
    special_tokens = json_texts(recorded, "special_tokens", about_file, list(BERT_TOKENS))
    if len(special_tokens) != len(BERT_TOKENS):
        raise ValueError(
            f"{about_file} has {len(special_tokens)} special_tokens; expected {len(BERT_TOKENS)}: give a "
            "folder that export_tflite wrote."
        )
    try:
        rules = recorded_rules(recorded)
    except WrongRules as error:
        raise ValueError(f"{about_file}: {error}") from None
    file = Path(folder) / VOCABULARY_FILE
    return Vocabulary(read_stripped_lines(file), casing, str(file), SpecialTokens(*special_tokens), **rules)
