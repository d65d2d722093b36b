"""Reads and writes vocabulary, casing and longest input of a Hugging Face folder.

transformers' BERT tokenizer equals the original's except in rare cases (docs/checkpoints.md). Settings that
would give other ids for ordinary text are refused; the error names them.
"""

from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.conversion.vocabulary_checks import decide_casing
from kbert.checkpoints.hugging_face.tokenizer_json import build_tokenizer_json, refuse_other_rules
from kbert.checkpoints.report import Report
from kbert.config.checks import SHORTEST_LENGTH
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown, shown_name
from kbert.files.whole_file import write_json
from kbert.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary

_BERT_CLASSES = (
    None,
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
)
_ROLES = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# transformers writes int(1e30) for "no limit known".
_NO_LIMIT = 10**9


def read_tokenizer(
    folder: Path, do_lower_case: bool | None, allowance: Allowance, report: Report
) -> tuple[Vocabulary, int | None]:
    """The vocabulary with its casing, and the longest input (`model_max_length`) or None.

    Args:
      folder: holds `vocab.txt` or `tokenizer.json`, and perhaps `tokenizer_config.json` and
        `added_tokens.json`.
      do_lower_case: the user's flag, or None.
      allowance: settings that may differ: `do_lower_case`, `strip_accents`, `tokenize_chinese_chars`,
        `added_tokens`, `tokenizer_class`, `special_tokens`, `normalizer`, `pre_tokenizer`,
        `do_basic_tokenize`, `never_split`, and those of `refuse_other_rules`.
      report: takes notes.

    Raises:
      ValueError: for a missing or contradictory vocabulary, or a setting that kbert cannot follow.
    """
    whole = _read_if_there(folder / "tokenizer.json")
    settings = _read_if_there(folder / "tokenizer_config.json") or {}
    tokens, source = _tokens(folder, whole)
    tokens = _with_added_tokens(folder, whole, settings, tokens, allowance, report)

    path = folder / "tokenizer_config.json"
    name = json_value(settings, "tokenizer_class", str, path)
    if name not in _BERT_CLASSES:
        allowance.conflict(
            "tokenizer_class", f"{folder}: tokenizer_class={shown(name)} is not BERT's", report
        )
    _refuse_other_roles(path, settings, allowance, report)
    roles = folder / "special_tokens_map.json"
    _refuse_other_roles(roles, _read_if_there(roles) or {}, allowance, report)

    declared, declared_by = json_value(settings, "do_lower_case", bool, path), "tokenizer_config.json"
    normalizer = _bert_normalizer(folder, whole, allowance, report)
    if normalizer is not None:
        lowercase = json_value(
            normalizer, "lowercase", bool, f"{folder / 'tokenizer.json'}: normalizer", True
        )
        if declared is None:
            declared, declared_by = lowercase, "tokenizer.json"
        elif declared != lowercase:
            allowance.conflict(
                "do_lower_case",
                f"{folder}: tokenizer_config.json says do_lower_case={declared}, but tokenizer.json "
                f"lowercase={lowercase}",
                report,
            )
    vocabulary = decide_casing(tokens, str(source), declared, declared_by, do_lower_case, allowance, report)
    _refuse_other_words(folder, settings, normalizer, vocabulary, allowance, report)
    if whole is not None:
        refuse_other_rules(whole, vocabulary, folder / "tokenizer.json", allowance, report)

    longest = json_count(settings, "model_max_length", path, SHORTEST_LENGTH)
    return vocabulary, None if longest is None or longest >= _NO_LIMIT else longest


def _refuse_other_roles(path, values, allowance, report):
    for role, token in _ROLES.items():
        theirs = values.get(role)
        theirs = theirs.get("content") if isinstance(theirs, dict) else theirs
        if theirs not in (None, token):
            allowance.conflict("special_tokens", f"{path}: {role} is {shown(theirs)}, not {token!r}", report)


def _read_if_there(path):
    return read_json_object(path) if path.is_file() else None


def _tokens(folder, whole):
    """Pieces in id order from vocab.txt and tokenizer.json, which must agree, and the file's path."""
    listed = inside = None
    if (folder / "vocab.txt").is_file():
        listed = Vocabulary.from_file(folder / "vocab.txt", do_lower_case=True).tokens
    if whole is not None:
        path = folder / "tokenizer.json"
        model = json_value(whole, "model", dict, path, {})
        kind = json_value(model, "type", str, f"{path}: model", "WordPiece")
        if kind != "WordPiece":
            raise ValueError(f"{path} is a tokenizer of type {shown_name(kind)}; kbert's is WordPiece.")
        inside = _in_id_order(json_value(model, "vocab", dict, f"{path}: model"), path)
    if listed is None and inside is None:
        raise ValueError(
            f"{folder} holds neither vocab.txt nor tokenizer.json; copy the model's vocabulary there."
        )
    if listed is not None and inside is not None and list(listed) != list(inside):
        raise ValueError(
            f"{folder}: vocab.txt ({len(listed)} pieces) and tokenizer.json ({len(inside)} pieces) are not "
            "the same vocabulary; remove the one that is not this model's."
        )
    return (listed, folder / "vocab.txt") if listed is not None else (inside, folder / "tokenizer.json")


def _in_id_order(ids, source):
    whole = ids is not None and all(type(index) is int for index in ids.values())
    if not whole or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{source}: expected model.vocab to number its pieces 0, 1, 2 ... without gaps.")
    return sorted(ids, key=ids.get)


def _with_added_tokens(folder, whole, settings, tokens, allowance, report):
    """The tokens with those that were added to the WordPieces; in kbert they become ordinary pieces."""
    added = _added_tokens(folder, whole or {}, settings)
    known = {token: index for index, token in enumerate(tokens)}
    strange = {token: index for token, index in added.items() if token not in SPECIAL_TOKENS}
    if not strange:
        return tokens
    names = ", ".join(shown_name(token) for token in sorted(strange)[:4])
    allowance.conflict(
        "added_tokens",
        f"{folder} has {len(strange)} added tokens ({names}), which its tokenizer never splits; in kbert "
        "they would be ordinary pieces",
        report,
    )
    new = sorted((index, token) for token, index in strange.items() if token not in known)
    if [index for index, _ in new] != list(range(len(tokens), len(tokens) + len(new))):
        raise ValueError(f"{folder}: the ids of the added tokens do not follow those of the vocabulary.")
    return [*tokens, *(token for _, token in new)]


def _added_tokens(folder, whole, settings):
    """Token -> id, from the three places that may name them."""
    added = dict(_read_if_there(folder / "added_tokens.json") or {})
    try:
        added |= {
            entry["content"]: entry["id"]
            for entry in json_value(whole, "added_tokens", list, folder / "tokenizer.json", [])
        }
        decoder = json_value(settings, "added_tokens_decoder", dict, folder / "tokenizer_config.json", {})
        added |= {entry["content"]: int(index) for index, entry in decoder.items()}
        if all(type(token) is str and type(index) is int for token, index in added.items()):
            return added
    except (KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{folder}: expected every added token to have its text (content) and its id.")


def _bert_normalizer(folder, whole, allowance, report):
    if whole is None:
        return None
    path = folder / "tokenizer.json"
    expected = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
    for key, kind in expected.items():
        found = json_value(json_value(whole, key, dict, path, {}), "type", str, f"{path}: {key}")
        if found != kind:
            allowance.conflict(
                key, f"{folder / 'tokenizer.json'}: its {key} is {shown(found)}, not {kind!r}", report
            )
    normalizer = whole.get("normalizer") or {}
    return normalizer if normalizer.get("type") == "BertNormalizer" else None


def _refuse_other_words(folder, settings, normalizer, vocabulary, allowance, report):
    lower = vocabulary.do_lower_case
    files = [("tokenizer_config.json", settings, "tokenize_chinese_chars")]
    if normalizer is not None:
        files.append(("tokenizer.json", normalizer, "handle_chinese_chars"))
    for file, values, chinese in files:
        accents = json_value(values, "strip_accents", bool, folder / file)
        if accents is not None and accents != lower:
            allowance.conflict(
                "strip_accents",
                f"{folder / file}: strip_accents={accents} with do_lower_case={lower}; kbert, like the "
                "original, strips accents exactly when it lower-cases",
                report,
            )
        if json_value(values, chinese, bool, folder / file) is False:
            allowance.conflict(
                "tokenize_chinese_chars",
                f"{folder / file}: {chinese}=false; kbert, like the original, makes a word of every Chinese "
                "character",
                report,
            )
    whole = folder / "tokenizer.json"
    if normalizer is not None and json_value(normalizer, "clean_text", bool, whole) is False:
        allowance.conflict("normalizer", f"{folder / 'tokenizer.json'}: clean_text=false", report)
    path = folder / "tokenizer_config.json"
    if json_value(settings, "do_basic_tokenize", bool, path) is False:
        allowance.conflict(
            "do_basic_tokenize", f"{folder}: do_basic_tokenize=false; kbert splits words", report
        )
    never_split = json_texts(settings, "never_split", path)
    if never_split:
        allowance.conflict("never_split", f"{folder}: never_split={shown(never_split)}", report)


# --------------------------------------------------------------------------------------- writing


def write_tokenizer(folder: Path, vocabulary: Vocabulary, max_seq_length: int):
    """vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json for `vocabulary`."""
    vocabulary.write(folder / "vocab.txt")
    write_json(_ROLES, folder / "special_tokens_map.json")
    write_json(_tokenizer_config(vocabulary, max_seq_length), folder / "tokenizer_config.json")
    write_json(build_tokenizer_json(vocabulary), folder / "tokenizer.json")


def _tokenizer_config(vocabulary, max_seq_length):
    return {
        # BertTokenizer makes its own rules, with 100 letters per word; this class uses tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": vocabulary.do_lower_case,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "model_max_length": max_seq_length,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **_ROLES,
    }
