"""What lies beside a served model for the page: its kbert.json and its vocabulary."""

import json
import pathlib

from ...folder_names import ABOUT_FILE, EXTRA_FOLDER, VOCABULARY_FILE


def about_export(folder: pathlib.Path) -> dict:
    """The export's kbert.json; nothing where there is none, or none that can be read."""
    try:
        about = json.loads((folder / EXTRA_FOLDER / ABOUT_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}


def has_vocabulary(folder: pathlib.Path, about: dict) -> bool:
    """Whether the export has what a tokenizer needs: a vocab.txt, which is not read, and its casing.

    Args:
        folder: of the version.
        about: its `about_export`.
    """
    return _casing(about) is not None and _vocab_file(folder).is_file()


def vocabulary_of(folder: pathlib.Path) -> dict | None:
    """What a tokenizer needs: `{"do_lower_case", "vocab_txt"}`; None where the export does not tell both."""
    casing = _casing(about_export(folder))
    if casing is None:
        return None
    try:
        vocab_txt = _vocab_file(folder).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return {"do_lower_case": casing, "vocab_txt": vocab_txt}


def _casing(about: dict) -> bool | None:
    recorded = about.get("vocabulary")
    casing = recorded.get("do_lower_case") if isinstance(recorded, dict) else None
    return casing if isinstance(casing, bool) else None


def _vocab_file(folder: pathlib.Path) -> pathlib.Path:
    return folder / EXTRA_FOLDER / VOCABULARY_FILE
