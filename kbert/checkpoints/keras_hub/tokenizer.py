"""Reads vocabulary and casing of a KerasHub preset.

KerasHub's tokenizer differs from the original: it folds compatibility characters and case by NFKC, and treats
control characters as spaces, where the original drops them. kbert tokenizes as the original does, so ids
differ in such places (docs/checkpoints.md counts them).
"""

from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.conversion.vocabulary_checks import decide_casing
from kbert.checkpoints.keras_hub.config import class_and_settings
from kbert.checkpoints.report import Report
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown
from kbert.files.text_file import read_lines
from kbert.tokenization.vocabulary import Vocabulary

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"
_RULES = {"split": True, "suffix_indicator": "##", "oov_token": "[UNK]", "special_tokens": None}


def read_preset_tokenizer(
    folder: Path, do_lower_case: bool | None, allowance: Allowance, report: Report
) -> Vocabulary:
    """The vocabulary with its casing.

    Args:
      folder: holds tokenizer.json and assets/tokenizer/vocabulary.txt.
      do_lower_case: the user's flag, or None.
      allowance: settings that may differ: `do_lower_case`, `strip_accents`, `split`, `suffix_indicator`,
        `oov_token`, `special_tokens`.
      report: takes notes.

    Raises:
      ValueError: for a missing or contradictory vocabulary, or a setting that kbert cannot follow.
    """
    path, file = folder / TOKENIZER_FILE, folder / VOCABULARY_FILE
    if not path.is_file() or not file.is_file():
        raise ValueError(
            f"{folder} has no tokenizer ({TOKENIZER_FILE} and {VOCABULARY_FILE}); save it beside the model: "
            "tokenizer.save_to_preset(folder)."
        )
    _, settings = class_and_settings(read_json_object(path), path, ("BertTokenizer",))
    for setting, ours in _RULES.items():
        found = settings.get(setting, ours)
        if found not in (ours, []):
            allowance.conflict(setting, f"{path}: {setting} is {shown(found)}, not {ours!r}", report)
    lowercase = json_value(settings, "lowercase", bool, path, False)
    strip = json_value(settings, "strip_accents", bool, path, False)
    # KerasHub strips white space at the ends of lines, and counts empty lines.
    tokens = [line.rstrip() for line in read_lines(file)]
    vocabulary = decide_casing(tokens, str(file), lowercase, TOKENIZER_FILE, do_lower_case, allowance, report)
    if strip and not lowercase:
        allowance.conflict(
            "strip_accents",
            f"{path}: strip_accents=true with lowercase=false; kbert, like the original, strips accents "
            "exactly when it lower-cases",
            report,
        )
    report.note(
        "ids are the original's; KerasHub's tokenizer gives others for some texts, see docs/checkpoints.md"
    )
    return vocabulary
