"""The rules in `tokenizer.json` from words to ids: BERT's own, written, and compared with those of a file.

The rules from text to words are in `tokenizer`.
"""

from pathlib import Path

from kbert.checkpoints.report import Report
from kbert.files.json_values import json_value, shown
from kbert.tokenization.vocabulary import MAX_CHARACTERS_PER_WORD, SPECIAL_TOKENS, Vocabulary

_ENDS = {"cls": "[CLS]", "sep": "[SEP]"}
_TRANSFORMERS_LIMIT = 100  # characters a word, which BERT's files on the hub have; the original's is 200


def refuse_other_rules(rules: dict, vocabulary: Vocabulary, path: Path, report: Report):
    """Refuses rules that give other ids than BERT's.

    Args:
      rules: the content of tokenizer.json.
      vocabulary: its pieces.
      path: the file.
      report: takes notes. Settings that may differ, if allowed: `continuing_subword_prefix`,
        `max_input_chars_per_word`, `special_tokens`, `post_processor`.

    Raises:
      ValueError: for such rules. A limit of 100 characters a word, transformers' default, is a note: of
        longer words, up to 200 characters, kbert makes pieces as the original does.
    """
    model = json_value(rules, "model", dict, path, {})
    for key, ours, absent in (
        ("unk_token", "[UNK]", "[UNK]"),
        ("continuing_subword_prefix", "##", "##"),
        ("max_input_chars_per_word", MAX_CHARACTERS_PER_WORD, _TRANSFORMERS_LIMIT),
    ):
        theirs = json_value(model, key, type(ours), f"{path}: model", absent)
        if theirs == _TRANSFORMERS_LIMIT:
            report.note(
                f"{path} makes [UNK] of words of more than {theirs} characters; kbert, like the original, of "
                f"words of more than {ours}"
            )
        elif theirs != ours:
            setting = "special_tokens" if key == "unk_token" else key
            report.conflict(setting, f"{path}: its {key} is {shown(theirs)}, not {ours!r}")
    if not _is_berts(json_value(rules, "post_processor", dict, path, {}), vocabulary):
        report.conflict(
            "post_processor",
            f"{path}: its post_processor does not make [CLS] a [SEP] b [SEP], which kbert always makes",
        )


def _is_berts(processor, vocabulary):
    if processor.get("type") == "BertProcessing":
        return all(processor.get(key) == [token, vocabulary.ids[token]] for key, token in _ENDS.items())
    expected = _post_processor(vocabulary)
    tokens = processor.get("special_tokens")
    return (
        all(processor.get(key) == expected[key] for key in ("type", "single", "pair"))
        and isinstance(tokens, dict)
        and all(tokens.get(token) == entry for token, entry in expected["special_tokens"].items())
    )


# --------------------------------------------------------------------------------------- writing


def build_tokenizer_json(vocabulary: Vocabulary) -> dict:
    """The content of a tokenizer.json that gives kbert's ids."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary.ids[token],
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in sorted(SPECIAL_TOKENS, key=vocabulary.ids.__getitem__)
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": vocabulary.do_lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _post_processor(vocabulary),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": MAX_CHARACTERS_PER_WORD,
            "vocab": vocabulary.ids,
        },
    }


def _post_processor(vocabulary):
    def special(token, segment):
        return {"SpecialToken": {"id": token, "type_id": segment}}

    def text(name, segment):
        return {"Sequence": {"id": name, "type_id": segment}}

    single = [special("[CLS]", 0), text("A", 0), special("[SEP]", 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), special("[SEP]", 1)],
        "special_tokens": {
            token: {"id": token, "ids": [vocabulary.ids[token]], "tokens": [token]}
            for token in _ENDS.values()
        },
    }
