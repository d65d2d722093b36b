"""Reads and writes vocabulary, casing and longest input of a Hugging Face folder.

transformers' BERT tokenizer equals the original's except in rare cases (docs/checkpoints.md). Settings that
would give other ids for ordinary text are refused; the error names them.
"""

from pathlib import Path

from kbert.checkpoints.conversion.checks import decide_casing
from kbert.checkpoints.hugging_face.other_tokenizers import read_other_vocabulary, write_other_tokenizer
from kbert.checkpoints.hugging_face.tokenizer_json import build_tokenizer_json, refuse_other_rules
from kbert.checkpoints.report import Report
from kbert.config.checks import SHORTEST_LENGTH
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown, shown_name
from kbert.files.whole_file import write_json
from kbert.tokenization.base_vocabulary import BaseVocabulary
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
    folder: Path, do_lower_case: bool | None, report: Report
) -> tuple[BaseVocabulary, int | None]:
    """The vocabulary with its casing, and the longest input (`model_max_length`) or None.

    Args:
      folder: holds `vocab.txt` or `tokenizer.json`, and perhaps `tokenizer_config.json` and
        `added_tokens.json`.
      do_lower_case: the user's flag, or None.
      report: takes notes. Settings that may differ, if allowed: `do_lower_case`, `strip_accents`,
        `tokenize_chinese_chars`, `added_tokens`, `tokenizer_class`, `special_tokens`, `normalizer`,
        `pre_tokenizer`, `do_basic_tokenize`, `never_split`, and those of `refuse_other_rules`.

    Raises:
      ValueError: for a missing or contradictory vocabulary, or a setting that kbert cannot follow.
    """
    path, config_path = folder / "tokenizer.json", folder / "tokenizer_config.json"
    rules, settings = _read_if_there(path), _read_if_there(config_path) or {}
    other = read_other_vocabulary(folder, settings, config_path)
    if other is not None:
        return other, _longest(settings, config_path)
    tokens, source = _tokens(folder, rules)
    tokens = _with_added_tokens(folder, rules, settings, tokens, report)

    name = json_value(settings, "tokenizer_class", str, config_path)
    if name not in _BERT_CLASSES:
        report.conflict("tokenizer_class", f"{folder}: tokenizer_class={shown(name)} is not BERT's")
    roles_path = folder / "special_tokens_map.json"
    _refuse_other_roles(config_path, settings, report)
    _refuse_other_roles(roles_path, _read_if_there(roles_path) or {}, report)

    declared, declared_by = json_value(settings, "do_lower_case", bool, config_path), config_path.name
    normalizer = _bert_normalizer(path, rules, report)
    if normalizer is not None:
        lowercase = json_value(normalizer, "lowercase", bool, f"{path}: normalizer", True)
        if declared is None:
            declared, declared_by = lowercase, path.name
        elif declared != lowercase:
            report.conflict(
                "do_lower_case",
                f"{folder}: tokenizer_config.json says do_lower_case={declared}, but tokenizer.json "
                f"lowercase={lowercase}",
            )
    vocabulary = decide_casing(tokens, str(source), declared, declared_by, do_lower_case, report)
    _refuse_other_words(config_path, settings, "tokenize_chinese_chars", vocabulary, report)
    if normalizer is not None:
        _refuse_other_words(path, normalizer, "handle_chinese_chars", vocabulary, report)
    if rules is not None:
        refuse_other_rules(rules, vocabulary, path, report)

    return vocabulary, _longest(settings, config_path)


def _longest(settings, path):
    longest = json_count(settings, "model_max_length", path, SHORTEST_LENGTH)
    return None if longest is None or longest >= _NO_LIMIT else longest


def _refuse_other_roles(path, values, report):
    for role, token in _ROLES.items():
        theirs = values.get(role)
        theirs = theirs.get("content") if isinstance(theirs, dict) else theirs
        if theirs not in (None, token):
            report.conflict("special_tokens", f"{path}: {role} is {shown(theirs)}, not {token!r}")


def _read_if_there(path):
    return read_json_object(path) if path.is_file() else None


def _tokens(folder, rules):
    """Pieces in id order from vocab.txt and tokenizer.json, which must agree, and the file's path."""
    file, path = folder / "vocab.txt", folder / "tokenizer.json"
    tokens = {}
    if file.is_file():
        tokens[file] = list(Vocabulary.from_file(file, do_lower_case=True).tokens)
    if rules is not None:
        model = json_value(rules, "model", dict, path, {})
        kind = json_value(model, "type", str, f"{path}: model", "WordPiece")
        if kind != "WordPiece":
            raise ValueError(f"{path} is a tokenizer of type {shown_name(kind)}; kbert's is WordPiece.")
        tokens[path] = _in_id_order(json_value(model, "vocab", dict, f"{path}: model"), path)
    if not tokens:
        raise ValueError(
            f"{folder} holds neither vocab.txt nor tokenizer.json; copy the model's vocabulary there."
        )
    if len(tokens) == 2 and tokens[file] != tokens[path]:
        raise ValueError(
            f"{folder}: vocab.txt ({len(tokens[file])} pieces) and tokenizer.json ({len(tokens[path])} "
            "pieces) are not the same vocabulary; remove the one that is not this model's."
        )
    source = next(iter(tokens))
    return tokens[source], source


def _in_id_order(ids, source):
    are_numbers = ids is not None and all(type(index) is int for index in ids.values())
    if not are_numbers or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{source}: expected model.vocab to number its pieces 0, 1, 2 ... without gaps.")
    return sorted(ids, key=ids.get)


def _with_added_tokens(folder, rules, settings, tokens, report):
    """The tokens with those that were added to the WordPieces; in kbert they become ordinary pieces."""
    added = _added_tokens(folder, rules or {}, settings)
    added = {token: index for token, index in added.items() if token not in SPECIAL_TOKENS}
    if not added:
        return tokens
    names = ", ".join(shown_name(token) for token in sorted(added)[:4])
    report.conflict(
        "added_tokens",
        f"{folder} has {len(added)} added tokens ({names}), which its tokenizer never splits; in kbert "
        "they would be ordinary pieces",
    )
    new = sorted((added[token], token) for token in added.keys() - set(tokens))
    if [index for index, _ in new] != list(range(len(tokens), len(tokens) + len(new))):
        raise ValueError(f"{folder}: the ids of the added tokens do not follow those of the vocabulary.")
    return [*tokens, *(token for _, token in new)]


def _added_tokens(folder, rules, settings):
    """Token -> id, from the three places that may name them."""
    added = dict(_read_if_there(folder / "added_tokens.json") or {})
    try:
        entries = json_value(rules, "added_tokens", list, folder / "tokenizer.json", [])
        added |= {entry["content"]: entry["id"] for entry in entries}
        decoder = json_value(settings, "added_tokens_decoder", dict, folder / "tokenizer_config.json", {})
        added |= {entry["content"]: int(index) for index, entry in decoder.items()}
        if all(type(token) is str and type(index) is int for token, index in added.items()):
            return added
    except (KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{folder}: expected every added token to have its text (content) and its id.")


def _bert_normalizer(path, rules, report):
    """The normalizer of tokenizer.json; None without one, or where another is allowed."""
    if rules is None:
        return None
    for key, expected in {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}.items():
        kind = json_value(json_value(rules, key, dict, path, {}), "type", str, f"{path}: {key}")
        if kind != expected:
            report.conflict(key, f"{path}: its {key} is {shown(kind)}, not {expected!r}")
    normalizer = rules.get("normalizer") or {}
    return normalizer if normalizer.get("type") == "BertNormalizer" else None


def _refuse_other_words(path, settings, chinese, vocabulary, report):
    """Refuses settings of either file that split a text into other words than the original does."""
    lower, accents = vocabulary.do_lower_case, json_value(settings, "strip_accents", bool, path)
    if accents is not None and accents != lower:
        report.conflict(
            "strip_accents",
            f"{path}: strip_accents={accents} with do_lower_case={lower}; kbert, like the "
            "original, strips accents exactly when it lower-cases",
        )
    if json_value(settings, chinese, bool, path) is False:
        report.conflict(
            "tokenize_chinese_chars",
            f"{path}: {chinese}=false; kbert, like the original, makes a word of every Chinese character",
        )
    for key, setting in {"clean_text": "normalizer", "do_basic_tokenize": "do_basic_tokenize"}.items():
        if json_value(settings, key, bool, path) is False:
            report.conflict(setting, f"{path}: {key}=false; kbert cleans texts and splits them into words")
    never_split = json_texts(settings, "never_split", path)
    if never_split:
        report.conflict("never_split", f"{path}: never_split={shown(never_split)}")


# --------------------------------------------------------------------------------------- writing


def write_tokenizer(folder: Path, vocabulary: BaseVocabulary, max_seq_length: int):
    """vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json for `vocabulary`."""
    if not isinstance(vocabulary, Vocabulary) or vocabulary.special_tokens != SPECIAL_TOKENS:
        write_other_tokenizer(folder, vocabulary, max_seq_length)
        return
    vocabulary.write(folder / "vocab.txt")
    settings = {
        # BertTokenizer makes its own rules, with 100 letters per word; this class uses tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": vocabulary.do_lower_case,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "model_max_length": max_seq_length,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **_ROLES,
    }
    write_json(_ROLES, folder / "special_tokens_map.json")
    write_json(settings, folder / "tokenizer_config.json")
    write_json(build_tokenizer_json(vocabulary), folder / "tokenizer.json")
