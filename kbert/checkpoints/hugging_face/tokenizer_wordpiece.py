"""WordPiece in a Hugging Face folder: BERT's tokenizer, and MPNet's with other special tokens.

transformers' BERT tokenizer equals the original's except in rare cases (docs/checkpoints.md).
"""

from kbert.checkpoints.conversion.checks import decide_casing
from kbert.checkpoints.hugging_face.tokenizer_json import Rules, TokenizerFiles
from kbert.files.json_values import json_texts, json_value, shown
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS, SpecialTokens
from kbert.tokenization.bpe.bpe_vocabulary import in_id_order
from kbert.tokenization.vocabulary import (
    MAX_CHARACTERS_PER_WORD,
    VOCABULARY_FILE,
    Vocabulary,
    read_pieces,
)

MPNET_TOKENS = ROBERTA_TOKENS._replace(unk=BERT_TOKENS.unk)
_TRANSFORMERS_LIMIT = 100  # characters a word, which BERT's files on the hub have; the original's is 200


def read_wordpiece(files: TokenizerFiles, do_lower_case: bool | None) -> Vocabulary:
    """The vocabulary with its casing.

    Args:
      files: `vocab.txt` or `tokenizer.json`, or both.
      do_lower_case: the user's flag, or None. Settings that may differ, if allowed: `do_lower_case`,
        `strip_accents`, `tokenize_chinese_chars`, `added_tokens`, `special_tokens`, `normalizer`,
        `pre_tokenizer`, `do_basic_tokenize`, `never_split`, `continuing_subword_prefix`,
        `max_input_chars_per_word`.

    Raises:
      ValueError: for a contradictory vocabulary, or a setting that kbert cannot follow.
    """
    path, report = files.path, files.report
    source, tokens = _read_tokens(files)
    special = _special_tokens(files, tokens)
    tokens = _with_added_tokens(files, special, _with_mpnets_tokens(files, special, tokens))
    declared, declared_by = _declared_casing(files)
    normalizer = _bert_normalizer(files)
    if normalizer is not None:
        lowercase = json_value(normalizer, "lowercase", bool, f"{path}: normalizer", True)
        if declared is None:
            declared, declared_by = lowercase, path.name
        elif declared != lowercase:
            report.conflict(
                "do_lower_case",
                f"{files.folder}: tokenizer_config.json says do_lower_case={declared}, but tokenizer.json "
                f"lowercase={lowercase}",
            )
    vocabulary = decide_casing(tokens, str(source), declared, declared_by, do_lower_case, report, special)
    _refuse_other_words(files.settings_path, files.settings, "tokenize_chinese_chars", vocabulary, report)
    if normalizer is not None:
        _refuse_other_words(path, normalizer, "handle_chinese_chars", vocabulary, report)
    if files.rules is not None:
        _refuse_other_pieces(files, vocabulary)
    return vocabulary


def _declared_casing(files):
    path = files.settings_path
    return json_value(files.settings, "do_lower_case", bool, path), path.name


def _read_tokens(files):
    """The file that counts, and its pieces in id order."""
    file, contents = files.folder / VOCABULARY_FILE, {}
    if file.is_file():
        contents[file] = (read_pieces(file),)
    if files.rules is not None:
        vocab = json_value(files.model, "vocab", dict, f"{files.path}: model", {})
        # As the lines of a vocab.txt: Chinese BERT has U+2028, which is white space, as a token.
        contents[files.path] = ([token.strip() for token in in_id_order(vocab, files.path)],)
    source, (tokens,) = files.same_content(contents)
    return source, tokens


def _special_tokens(files, tokens) -> SpecialTokens:
    """MPNet's where the class is MPNet's, or where the files say and the vocabulary has it; else BERT's."""
    is_mpnets = str(files.settings.get("tokenizer_class")).startswith("MPNet")
    if is_mpnets or (files.settings.get("cls_token") == MPNET_TOKENS.cls and MPNET_TOKENS.cls in tokens):
        mask = next((name for name in (MPNET_TOKENS.mask, BERT_TOKENS.mask) if name in tokens), "<mask>")
        return MPNET_TOKENS._replace(mask=mask)
    return BERT_TOKENS


def _with_mpnets_tokens(files, special, tokens):
    """MPNet counts its four special tokens before the pieces. A vocab.txt of BERT's pieces lacks them."""
    if special is BERT_TOKENS or special.cls in tokens:
        return tokens
    files.report.note(
        f"{files.folder}: vocab.txt has BERT's tokens alone; MPNet's <s> <pad> </s> <unk> are added"
    )
    return [ROBERTA_TOKENS.cls, ROBERTA_TOKENS.pad, ROBERTA_TOKENS.sep, ROBERTA_TOKENS.unk, *tokens]


def _with_added_tokens(files, special, tokens):
    """The tokens with those that were added to the WordPieces; in kbert they become ordinary pieces."""
    added = files.added_tokens({*special, ROBERTA_TOKENS.unk} if special.sep == MPNET_TOKENS.sep else special)
    new = sorted((added[token], token) for token in added.keys() - set(tokens))
    if [index for index, _ in new] != list(range(len(tokens), len(tokens) + len(new))):
        raise ValueError(
            f"{files.folder}: the ids of the added tokens do not follow those of the vocabulary."
        )
    return [*tokens, *(token for _, token in new)]


def _bert_normalizer(files):
    """The normalizer of tokenizer.json; None without one, or where another is allowed."""
    if files.rules is None:
        return None
    for key, expected in {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}.items():
        step = json_value(files.rules, key, dict, files.path, {})
        if json_value(step, "type", str, f"{files.path}: {key}") != expected:
            files.refuse_other_steps(key, [step], repr(expected))
    normalizer = files.rules.get("normalizer") or {}
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


def _refuse_other_pieces(files, vocabulary):
    """Refuses rules that make other pieces of a word; transformers' limit of 100 characters is a note."""
    unknown, limit = vocabulary.special_tokens.unk, "max_input_chars_per_word"
    files.refuse_other_model({"unk_token": (unknown, unknown), "continuing_subword_prefix": ("##", "##")})
    if json_value(files.model, limit, int, files.path, _TRANSFORMERS_LIMIT) == _TRANSFORMERS_LIMIT:
        files.report.note(
            f"{files.path} makes [UNK] of words of more than {_TRANSFORMERS_LIMIT} characters; kbert, like "
            f"the original, of words of more than {MAX_CHARACTERS_PER_WORD}"
        )
    else:
        files.refuse_other_model({limit: (MAX_CHARACTERS_PER_WORD, _TRANSFORMERS_LIMIT)})


# --------------------------------------------------------------------------------------- writing


def wordpiece_rules(vocabulary: Vocabulary) -> Rules:
    """What the tokenizer.json of a vocabulary says."""
    return Rules(
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": vocabulary.do_lower_case,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": vocabulary.special_tokens.unk,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": MAX_CHARACTERS_PER_WORD,
            "vocab": vocabulary.ids,
        },
    )


def wordpiece_settings(vocabulary: Vocabulary) -> dict:
    """What its tokenizer_config.json says."""
    return {
        # BertTokenizer makes its own rules, with 100 letters per word; this class uses tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": vocabulary.do_lower_case,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
    }
