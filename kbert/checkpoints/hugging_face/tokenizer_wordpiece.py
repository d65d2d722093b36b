"""WordPiece in a Hugging Face folder: BERT's tokenizer, and MPNet's with other special tokens.

transformers' BERT tokenizer equals the original's except in rare cases (docs/checkpoints.md).
"""

import json

from kbert.checkpoints.conversion.checks import decide_casing
from kbert.checkpoints.conversion.own_keys import CASING, casing_key
from kbert.checkpoints.hugging_face.tokenizer_json import (
    CLASSES_OF_THE_FILE,
    Rules,
    TokenizerFiles,
    added_alone,
)
from kbert.files.json_values import json_count, json_texts, json_value, shown
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS, SpecialTokens
from kbert.tokenization.bpe.bpe_vocabulary import in_id_order
from kbert.tokenization.vocabulary import (
    VOCABULARY_FILE,
    Vocabulary,
    is_placeholder,
    placeholder,
    read_pieces,
)
from kbert.tokenization.wordpiece_rules import MOST_CHARACTERS

MPNET_TOKENS = ROBERTA_TOKENS._replace(unk=BERT_TOKENS.unk)
_TRANSFORMERS_LIMIT = 100  # characters a word, where no tokenizer.json says it; the original's is 200
# Setting -> its key in tokenizer_config.json, and in the normalizer of tokenizer.json.
_RULES = {
    "do_lower_case": ("do_lower_case", "lowercase"),
    "strip_accents": ("strip_accents", "strip_accents"),
    "tokenize_chinese_chars": ("tokenize_chinese_chars", "handle_chinese_chars"),
}
# What models are called whose heads somebody trained with transformers' tokenizer.
_FINE_TUNED = ("SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice")
# Further settings of either file, and their only value that kbert has.
_FIXED = {"clean_text": True, "do_basic_tokenize": True}


def read_wordpiece(files: TokenizerFiles, do_lower_case: bool | None) -> Vocabulary:
    """The vocabulary with its rules.

    Args:
      files: `vocab.txt` or `tokenizer.json`, or both.
      do_lower_case: the user's flag, or None. Settings that may differ, if allowed: `do_lower_case`,
        `strip_accents`, `tokenize_chinese_chars`, where the two files contradict each other; `added_tokens`,
        `special_tokens`, `normalizer`, `pre_tokenizer`, `clean_text`, `do_basic_tokenize`, `never_split`,
        `continuing_subword_prefix`.

    Raises:
      ValueError: for a contradictory vocabulary, or a setting that kbert cannot follow.
    """
    source, tokens = _read_tokens(files)
    special = _special_tokens(files, tokens)
    tokens = _with_added_tokens(files, special, _with_mpnets_tokens(files, special, tokens))
    normalizer = _bert_normalizer(files)
    rules = {name: _declared(files, normalizer, name) for name in _RULES}
    _refuse_rules_of_one_file(files, rules, do_lower_case)
    declared, declared_by = rules.pop("do_lower_case")
    vocabulary = decide_casing(
        tokens,
        str(source),
        declared,
        declared_by,
        do_lower_case,
        files.report,
        special,
        json_value(files.settings, CASING, bool, files.settings_path, False),
        **{name: value for name, (value, _) in rules.items() if value is not None},
        max_input_chars_per_word=_longest_word(files),
    )
    if declared is do_lower_case is None and not vocabulary.do_lower_case:
        _warn_of_lower_casing(files, source)
    _refuse_other_words(files.settings_path, files.settings, files.report)
    _refuse_other_words(files.path, normalizer, files.report)
    if files.rules is not None:
        unknown = special.unk
        files.refuse_other_model({"unk_token": (unknown, unknown), "continuing_subword_prefix": ("##", "##")})
    return vocabulary


def _declared(files, normalizer, name) -> tuple[bool | None, str]:
    """What the two files say of a setting, and the name of the one that counts.

    Null says nothing, but to a class that follows tokenizer.json. A ModernBERT follows it in transformers 5
    whatever its class is, so there both must say the same; null accents are as the casing.
    """
    key, other_key = _RULES[name]
    declared = json_value(files.settings, key, bool, files.settings_path)
    other = json_value(normalizer, other_key, bool, f"{files.path}: normalizer")
    follows_file = normalizer and files.class_name in CLASSES_OF_THE_FILE
    theirs = other
    if other is None and not follows_file and files.model_type == "modernbert":
        theirs = normalizer.get("lowercase")
    if declared is not None and theirs not in (None, declared):
        files.report.conflict(
            name,
            f"{files.folder}: {files.settings_path.name} says {key}={declared}, but {files.path.name} "
            f"{other_key}={other}",
        )
    if declared is not None and not follows_file:
        return declared, files.settings_path.name
    return other, files.path.name


def _refuse_rules_of_one_file(files, rules, do_lower_case):
    """Refuses rules that stand in tokenizer.json alone, where transformers takes those of its class.

    The user's flag decides on the casing.

    Source: transformers 5, `BertTokenizer.__init__`; transformers 4, `BertTokenizerFast.__init__`.
    """
    if files.class_name in CLASSES_OF_THE_FILE:
        return
    lower_case = rules["do_lower_case"][0] if do_lower_case is None else do_lower_case
    defaults = {"strip_accents": lower_case, "tokenize_chinese_chars": True}
    if do_lower_case is None:
        defaults["do_lower_case"] = True
    for name, usual in defaults.items():
        value, declared_by = rules[name]
        if declared_by == files.path.name and None not in (value, usual) and value != usual:
            files.report.conflict(
                name,
                f"{files.path} says {_RULES[name][1]}={json.dumps(value)}, but {files.settings_path.name} "
                f"does not say {name}, and transformers' {files.class_name or 'BertTokenizer'} takes "
                f"{json.dumps(usual)} then; write it there too",
            )


def _warn_of_lower_casing(files, source):
    """Says what transformers does with cased tokens where no file says the casing: it lower-cases."""
    if files.architecture.endswith(_FINE_TUNED) and files.class_name not in CLASSES_OF_THE_FILE:
        files.report.warn(
            f"{source}: no file says do_lower_case, and the tokens are cased: capitals stay, but "
            "transformers' BertTokenizer lower-cases such a folder",
            "; where the head was trained so, run kbert convert --do_lower_case "
            "--allow_unmatched=do_lower_case",
        )


def _longest_word(files) -> int:
    """As the folder says it; else as BertTokenizer of transformers 5, which takes none from the folder."""
    where = f"{files.path}: model"
    limit = json_count(files.model, "max_input_chars_per_word", where) or _TRANSFORMERS_LIMIT
    if limit != _TRANSFORMERS_LIMIT and files.class_name not in CLASSES_OF_THE_FILE:
        files.report.note(
            f"{where}: max_input_chars_per_word={limit} counts here, as in transformers 4; BertTokenizer of "
            f"transformers 5 takes {_TRANSFORMERS_LIMIT}"
        )
    return min(limit, MOST_CHARACTERS)


def _read_tokens(files):
    """The file that counts, and its pieces in id order."""
    file, contents = files.folder / VOCABULARY_FILE, {}
    if file.is_file():
        alone = added_alone(files.prompt_tokens)
        contents[file] = ([piece for piece in read_pieces(file) if piece not in alone],)
    if files.rules is not None:
        vocab = dict(json_value(files.model, "vocab", dict, f"{files.path}: model", {}))
        # A dictionary has each token once. Lines of vocab.txt that repeat one left their numbers free there.
        for (lines,) in contents.values():
            vocab |= {token: index for index, token in enumerate(lines) if is_placeholder(token)}
        vocab |= _free_numbers(files, vocab)
        # As the lines of a vocab.txt: Chinese BERT has U+2028, which is white space, as a token.
        contents[files.path] = ([token.strip() for token in in_id_order(vocab, files.path)],)
    source, (tokens,) = files.same_content(contents)
    return source, tokens


def _free_numbers(files, vocab) -> dict[str, int]:
    """A placeholder for each number that no token has: transformers leaves those of repeated lines free."""
    numbers = {index for index in vocab.values() if type(index) is int}
    last = max(numbers, default=0)
    if last >= 2 * len(numbers):  # no vocabulary of lines
        return {}
    free = {placeholder(index): index for index in range(last) if index not in numbers}
    if free:
        files.report.note(f"{files.path}: {len(free)} numbers are free, such as {min(free.values())}")
    return free


def _special_tokens(files, tokens) -> SpecialTokens:
    """MPNet's where the class is MPNet's, or where the files or the family say it and the vocabulary has it.

    Else BERT's.
    """
    name, cls = files.class_name, files.role("cls_token")
    if name is None and files.model_type == "mpnet" and cls is None:
        cls = MPNET_TOKENS.cls  # transformers goes by the family then
    is_mpnets = str(name).startswith("MPNet")
    if is_mpnets or (cls == MPNET_TOKENS.cls and cls in tokens):
        mask = next((name for name in (MPNET_TOKENS.mask, BERT_TOKENS.mask) if name in tokens), "<mask>")
        return MPNET_TOKENS._replace(mask=mask)
    return BERT_TOKENS


def _with_mpnets_tokens(files, special, tokens):
    """MPNet counts its four special tokens before the pieces. A vocab.txt of BERT's pieces lacks them."""
    if special is BERT_TOKENS or special.cls in tokens:
        return tokens
    files.report.warn(
        f"{files.folder}: vocab.txt has BERT's tokens alone; <s> <pad> </s> <unk> are put before them",
        ", where transformers puts them last; write them into the file",
    )
    return [ROBERTA_TOKENS.cls, ROBERTA_TOKENS.pad, ROBERTA_TOKENS.sep, ROBERTA_TOKENS.unk, *tokens]


def _with_added_tokens(files, special, tokens):
    """The tokens with those that were added to the WordPieces; in kbert they become ordinary pieces."""
    added = files.added_tokens({*special, ROBERTA_TOKENS.unk} if special.sep == MPNET_TOKENS.sep else special)
    added |= files.prompt_pieces()
    new = sorted((added[token], token) for token in added.keys() - set(tokens))
    if [index for index, _ in new] != list(range(len(tokens), len(tokens) + len(new))):
        raise ValueError(
            f"{files.folder}: the ids of the added tokens do not follow those of the vocabulary."
        )
    return [*tokens, *(token for _, token in new)]


def _bert_normalizer(files) -> dict:
    """The normalizer of tokenizer.json; empty without one, or where another is allowed."""
    if files.rules is None:
        return {}
    normalizer = _own_step(files, "normalizer", "normalizers", "BertNormalizer")
    _own_step(files, "pre_tokenizer", "pretokenizers", "BertPreTokenizer")
    return {"lowercase": True} | normalizer if normalizer else {}


def _own_step(files, key, inner, kind) -> dict:
    """The step of this kind, which stands alone; or empty, where others are allowed."""
    steps = files.steps(key, inner)
    types = [json_value(step, "type", str, f"{files.path}: {key}") for step in steps]
    own = steps[-1] if types[-1:] == [kind] else {}
    # sentence-transformers lower-cases before BertNormalizer, which makes the same of it
    if types != [kind] and not (types == ["Lowercase", kind] and own.get("lowercase", True) is True):
        files.refuse_other_steps(key, steps, repr(kind))
    return own


def _refuse_other_words(path, settings, report):
    """Refuses settings of either file that split a text as kbert cannot."""
    for key, ours in _FIXED.items():
        theirs = json_value(settings, key, type(ours), path, ours)
        if theirs != ours:
            report.conflict(key, f"{path}: {key}={json.dumps(theirs)}; kbert has {json.dumps(ours)} alone")
    never_split = json_texts(settings, "never_split", path)
    if never_split:
        report.conflict("never_split", f"{path}: never_split={shown(never_split)}")


# --------------------------------------------------------------------------------------- writing


def wordpiece_rules(vocabulary: Vocabulary) -> Rules:
    """What the tokenizer.json of a vocabulary says."""
    rules = vocabulary.rules
    return Rules(
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": rules.tokenize_chinese_chars,
            "strip_accents": _written_accents(rules),
            "lowercase": rules.do_lower_case,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": vocabulary.special_tokens.unk,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": rules.max_input_chars_per_word,
            "vocab": vocabulary.ids,
        },
    )


def wordpiece_settings(vocabulary: Vocabulary) -> dict:
    """What its tokenizer_config.json says."""
    rules = vocabulary.rules
    return {
        # BertTokenizer makes its own rules, with 100 letters per word; this class uses tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": rules.do_lower_case,
        "strip_accents": _written_accents(rules),
        "tokenize_chinese_chars": rules.tokenize_chinese_chars,
        **casing_key(vocabulary),
    }


def _written_accents(rules) -> bool | None:
    """`strip_accents`, or null where it is as lower-casing has it."""
    return rules.not_googles.get("strip_accents")
