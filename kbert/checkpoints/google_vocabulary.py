"""A vocab.txt alone, or in a folder of Google's (TF1, Model Garden), whose files and name tell the rules."""

import re
from pathlib import Path

from absl import logging

from kbert.checkpoints.bert_config_file import CONFIG_FILE
from kbert.checkpoints.conversion.checks import decide_casing
from kbert.checkpoints.conversion.own_keys import CASING
from kbert.checkpoints.report import Report
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown
from kbert.tokenization.casing import casing_contradiction, cut_by_others
from kbert.tokenization.vocabulary import VOCABULARY_FILE, Vocabulary, read_pieces
from kbert.tokenization.wordpiece_rules import RULES, WrongRules, recorded_rules

TEXT_KEYS = ("do_lower_case", CASING, *RULES)  # kbert's own in bert_config.json: how texts are cut
# Of Hugging Face's tokenizer: some publish both formats in one folder.
_BESIDE = "tokenizer_config.json"
_KEYS_BESIDE = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
# Like tokenization.py, `validate_case_matches_checkpoint`: the folder's name shows the casing.
_CASED_FOLDER = re.compile(r"(^|[_-])(multi_)?cased([_-]|$)")
_UNCASED_FOLDER = re.compile(r"(^|[_-])uncased([_-]|$)|^(multilingual|chinese)_L-")


def read_vocab_file(path: str | Path, do_lower_case: bool | None) -> Vocabulary:
    """The WordPieces of a vocab.txt that nothing else describes, by the rules of google-research/bert.

    Warns where the tokens speak against the casing.

    Args:
      path: the file.
      do_lower_case: the casing. None means lower-cased, as in google-research/bert, unless the tokens prove
        that they are cased.

    Raises:
      ValueError: for None and such tokens, and whatever makes no vocabulary.
    """
    vocabulary = Vocabulary.from_file(path, do_lower_case is not False)
    contradiction = casing_contradiction(vocabulary.tokens, vocabulary.rules)
    if do_lower_case is None and contradiction and contradiction.is_certain:
        raise ValueError(
            f"{path}: texts are lower-cased if nothing is said, but {contradiction.sentence.rstrip('.')} "
            "(do_lower_case=False), or say --do_lower_case if that is meant."
        )
    if contradiction:
        logging.warning("%s: %s", path, contradiction.sentence)
    if cut := cut_by_others(vocabulary.tokens, vocabulary.rules):
        logging.warning("%s: %s.", path, cut)
    return vocabulary


def is_googles(folder: Path) -> bool:
    """Whether the vocabulary of a folder is Google's, by what lies beside it; else it is Hugging Face's."""
    has_config = (folder / CONFIG_FILE).is_file()
    has_checkpoint = any(folder.glob("*.data-00000-of-*"))
    if (folder / "config.json").is_file():
        return has_config and has_checkpoint
    return has_checkpoint or (has_config and not (folder / "tokenizer.json").is_file())


def read_google_vocabulary(
    folder: Path, do_lower_case: bool | None, report: Report, own: dict | None = None
) -> Vocabulary:
    """The vocabulary of the folder.

    Args:
      folder: holds vocab.txt, and perhaps bert_config.json and tokenizer_config.json, which must agree.
      do_lower_case: the user's flag, or None. Where no file says the casing, the folder's name does, or the
        tokens.
      report: takes notes; see `Report.conflict`.
      own: the `TEXT_KEYS` of bert_config.json; None to read them.

    Raises:
      ValueError: for what makes no vocabulary, and for settings that contradict each other or the tokens.
    """
    file = folder / CONFIG_FILE
    if own is None:
        own = read_json_object(file) if file.is_file() else {}
        own = {key: value for key, value in own.items() if key in TEXT_KEYS}
    beside = _settings_beside(folder, own, report)
    rules = read_rules(beside | own, file)
    tokens = read_pieces(folder / VOCABULARY_FILE)
    declared = json_value(own, "do_lower_case", bool, file)
    casing: tuple[bool | None, str] = (declared, CONFIG_FILE)
    if declared is None:
        casing = (beside["do_lower_case"], _BESIDE) if "do_lower_case" in beside else _shown_by_name(folder)
    source = str(folder / VOCABULARY_FILE)
    is_known = json_value(own, CASING, bool, file, False)
    return decide_casing(tokens, source, *casing, do_lower_case, report, is_known=is_known, **rules)


def read_rules(own: dict, path) -> dict:
    """The rules for words among the `TEXT_KEYS`, for `Vocabulary`. ValueError for values that are none."""
    try:
        return recorded_rules(own)
    except WrongRules as error:
        raise ValueError(f"{path}: {error}") from None


def _settings_beside(folder, own, report) -> dict:
    """What tokenizer_config.json says; bert_config.json counts where another value is allowed."""
    file = folder / _BESIDE
    values = read_json_object(file) if file.is_file() else {}
    theirs = {key: json_value(values, key, bool, file) for key in _KEYS_BESIDE}
    theirs = {key: value for key, value in theirs.items() if value is not None}
    for key, value in theirs.items():
        if own.get(key) not in (None, value):
            report.conflict(
                key, f"{folder}: {_BESIDE} says {key}={shown(value)}, but {CONFIG_FILE} {shown(own[key])}"
            )
    return theirs


def _shown_by_name(folder) -> tuple[bool | None, str]:
    name = folder.resolve().name
    if _UNCASED_FOLDER.search(name):
        return True, f"the folder's name {name!r}"
    if _CASED_FOLDER.search(name):
        return False, f"the folder's name {name!r}"
    return None, ""
