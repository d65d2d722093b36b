"""Reads vocabulary and casing of a KerasHub preset.

KerasHub's tokenizer differs from the original: it folds compatibility characters and case by NFKC, and treats
control characters as spaces, where the original drops them. kbert tokenizes as the original does, so ids
differ in such places (docs/checkpoints.md counts them).
"""

from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.conversion.vocabulary_checks import decide_casing
from kbert.checkpoints.keras_hub.config import registered_class
from kbert.checkpoints.report import Report
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown
from kbert.tokenization.vocabulary import Vocabulary

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"


def read_preset_tokenizer(
    folder: Path, do_lower_case: bool | None, allowance: Allowance, report: Report
) -> Vocabulary:
    """The vocabulary with its casing.

    Args:
      folder: holds tokenizer.json and assets/tokenizer/vocabulary.txt.
      do_lower_case: the user's flag, or None.
      allowance: settings that may differ: `do_lower_case`, `strip_accents`, `split`, `suffix_indicator`,
        `oov_token`, `special_tokens`, `tokenizer_class`.
      report: takes notes.

    Raises:
      ValueError: for a missing or contradictory vocabulary, or a setting that kbert cannot follow.
    """
    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise ValueError(
            f"{folder} has no tokenizer ({TOKENIZER_FILE} and {VOCABULARY_FILE}); save it beside the model: "
            "tokenizer.save_to_preset(folder)."
        )
    values = read_json_object(path)
    name = registered_class(values, path)
    settings = values["config"]
    expected = {
        "tokenizer_class": (name, "BertTokenizer"),
        "split": (settings.get("split", True), True),
        "suffix_indicator": (settings.get("suffix_indicator", "##"), "##"),
        "oov_token": (settings.get("oov_token", "[UNK]"), "[UNK]"),
        "special_tokens": (settings.get("special_tokens") or None, None),
    }
    for setting, (found, ours) in expected.items():
        if found != ours:
            allowance.conflict(setting, f"{path}: {setting} is {shown(found)}, not {ours!r}", report)
    lowercase = json_value(settings, "lowercase", bool, path, False)
    strip = json_value(settings, "strip_accents", bool, path, False)
    vocabulary = decide_casing(
        _tokens(folder / VOCABULARY_FILE),
        str(folder / VOCABULARY_FILE),
        lowercase,
        TOKENIZER_FILE,
        do_lower_case,
        allowance,
        report,
    )
    if strip and not lowercase:
        allowance.conflict(
            "strip_accents",
            f"{path}: strip_accents=true with lowercase=false; kbert, like the original, strips accents "
            "exactly when it lower-cases",
            report,
        )
    if lowercase and not strip:
        report.note(
            "KerasHub's tokenizer keeps accents here (strip_accents=false); kbert strips them, as the "
            "original does with every lower-casing vocabulary"
        )
    report.note(
        "ids are the original's; KerasHub's tokenizer gives others for some texts (compatibility "
        "characters, control characters, words of more than 100 bytes)"
    )
    return vocabulary


def _tokens(path):
    """Pieces in id order. KerasHub strips white space at the ends of lines, and counts empty lines."""
    if not path.is_file():
        raise ValueError(f"{path} does not exist; expected a vocabulary, one WordPiece per line.")
    try:
        lines = path.read_bytes().decode("utf-8").removeprefix("\ufeff").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.start}); expected one WordPiece per line."
        ) from None
    if not lines[-1]:
        lines.pop()
    return [line.rstrip() for line in lines]
