"""What lies beside a served model for the page: its kbert.json and its vocabulary."""

import json
import pathlib


def about_export(folder: pathlib.Path) -> dict:
    """The export's kbert.json; nothing where there is none, or none that can be read."""
    try:
        about = json.loads((folder / "assets.extra" / "kbert.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}


def vocabulary_of(folder: pathlib.Path) -> dict | None:
    """What a tokenizer needs: `{"do_lower_case", "vocab_txt"}`; None where the export does not tell both."""
    recorded = about_export(folder).get("vocabulary")
    casing = recorded.get("do_lower_case") if isinstance(recorded, dict) else None
    if not isinstance(casing, bool):
        return None
    try:
        vocab_txt = (folder / "assets.extra" / "vocab.txt").read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return {"do_lower_case": casing, "vocab_txt": vocab_txt}
