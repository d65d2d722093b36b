"""The keys of a tokenizer's files: what kbert does not follow is refused or named, see `folder_keys`."""

import json
from collections.abc import Mapping

from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.hugging_face.tokenizer_json import (
    CLASSES_OF_THE_FILE,
    ROLES_FILE,
    TokenizerFiles,
    token_text,
)
from kbert.files.json_values import json_texts, json_value, shown
from kbert.tokenization.base_vocabulary import BERT_TOKENS, BaseVocabulary

# The keys of both files that list tokens beside those with a role.
_MORE_TOKENS = ("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens")
# The ends of the classes that are told the second text of a pair.
_OF_PAIRS = ("SequenceClassification", "QuestionAnswering", "MultipleChoice", "Prediction", "PreTraining")
_OF_MASKS = ("MaskedLM", "PreTraining")  # of those that fill masks


def check_tokenizer_keys(files: TokenizerFiles):
    """Looks at each key of the files, before the vocabulary is read.

    Raises:
      ValueError: for a key with a value that kbert does not follow, unless it is allowed.
    """
    contents = {files.settings_path: files.settings, files.path: files.rules or {}}
    contents[files.folder / ROLES_FILE] = files.read(ROLES_FILE) or {}
    for path, values in contents.items():
        check_keys(path.name, values, path, files.report)
    for part in ("model", "normalizer", "pre_tokenizer"):
        values = json_value(files.rules or {}, part, dict, files.path, {})
        check_keys(f"tokenizer.json: {part}", values, f"{files.path}: {part}", files.report)
    _refuse_cut_beginnings(files)
    _refuse_pairs_without_segments(files)


def refuse_more_special_tokens(files: TokenizerFiles, vocabulary: BaseVocabulary):
    """Refuses tokens that are never split, have no role, and do not stand among the added tokens.

    Raises:
      ValueError: for any, unless `added_tokens` is allowed.
    """
    known = {*vocabulary.special_tokens, *files.all_added_tokens()}
    for where, listed in _more_tokens(files):
        more = [token for token in listed if token not in known]
        if more:
            files.report.conflict(
                "added_tokens",
                f"{where} has {shown(more)}, which its tokenizer never splits; in kbert they would be "
                "ordinary text",
            )


def refuse_other_masks(files: TokenizerFiles, vocabulary: BaseVocabulary):
    """Refuses a masked LM whose mask is found otherwise in a text than by kbert.

    Raises:
      ValueError: for such a mask, unless `mask_token` is allowed.
    """
    if not files.architecture.endswith(_OF_MASKS):
        return
    expected = {"single_word": False}
    if vocabulary.kind == "bpe":  # where blanks are parts of pieces
        expected |= {"lstrip": True, "rstrip": False}
    decoder = files.settings.get("added_tokens_decoder") or {}  # counts before tokenizer.json
    roles = [(files.read(name) or {}).get("mask_token") for name in (files.settings_path.name, ROLES_FILE)]
    entries = [*decoder.values(), *((files.rules or {}).get("added_tokens") or [])]
    entries += [role for role in roles if isinstance(role, dict)]
    mask = vocabulary.special_tokens.mask
    theirs = next((entry for entry in entries if entry.get("content") == mask), None)
    if theirs is None:
        theirs = _mask_without_entry(files, vocabulary, expected)
    if json_value(files.settings, "split_special_tokens", bool, files.settings_path, False):
        files.report.conflict(
            "split_special_tokens",
            f"{files.settings_path}: split_special_tokens=true cuts {mask} as it does other words, and kbert "
            "fills it",
        )
    for name, ours in expected.items():
        value = json_value(theirs, name, bool, f"{files.folder}: {mask}", False)
        if value != ours:
            files.report.conflict(
                "mask_token",
                f"{files.folder}: {mask} has {name}={json.dumps(value)}, but kbert finds a mask with "
                f"{name}={json.dumps(ours)}: the words around it would have other ids",
            )


def _mask_without_entry(files, vocabulary, expected):
    """What transformers makes of a mask that is a text alone: RobertaTokenizer of 5.x keeps its blanks."""
    if vocabulary.kind != "bpe":
        return expected
    if files.rules is not None and files.class_name in CLASSES_OF_THE_FILE:
        return {}
    files.report.note(
        f"{files.folder}: no file says that {vocabulary.special_tokens.mask} takes the blank before it; it "
        "does, as in transformers 4, but not in transformers 5"
    )
    return expected


def refuse_tokens_in_prompts(files: TokenizerFiles, vocabulary: BaseVocabulary, prompts: Mapping[str, str]):
    """Refuses prompts with a special or added token, but for runs of blanks and the tokens of prompts.

    Args:
      prompts: name -> what a model of vectors puts before a text.

    Raises:
      ValueError: for any, unless `prompts` is allowed.
    """
    if not any(prompts.values()):
        return
    _refuse_other_prompt_tokens(files, vocabulary)
    more = (token for _, listed in _more_tokens(files) for token in listed)
    whole = [
        token for token in (*vocabulary.special_tokens, *files.all_added_tokens(), *more) if token.strip()
    ]
    for name, prompt in prompts.items():
        begin = max(filter(prompt.startswith, files.prompt_tokens), key=len, default="")
        token = next((token for token in whole if token in prompt[len(begin) :]), None)
        if token is not None:
            files.report.conflict(
                "prompts",
                f"{files.folder}: the prompt {shown(name)} is {shown(prompt)}, and its tokenizer never "
                f"splits {shown(token)}; in kbert it would be ordinary text",
            )


def _refuse_other_prompt_tokens(files, vocabulary):
    """Refuses tokens of prompts that are not found where they stand, or take blanks beside them."""
    wrong = ["single_word", *(["lstrip", "rstrip"] if vocabulary.kind == "bpe" else [])]  # whose blanks count
    for entry in files.added_entries():
        token = entry.get("content")
        if token in files.prompt_tokens and (flags := [name for name in wrong if entry.get(name)]):
            files.report.conflict(
                "prompts",
                f"{files.folder}: the added token {shown(token)} of a prompt has {flags[0]}=true; kbert "
                "takes the token alone, wherever a text begins with it",
            )


def _more_tokens(files):
    """(file and key, its tokens) of each key that lists some."""
    for path in (files.settings_path, files.folder / ROLES_FILE):
        settings = files.read(path.name) or {}
        for key in _MORE_TOKENS:
            yield f"{path}: {key}", _listed(settings.get(key))


def _listed(tokens) -> list:
    """The texts of a list, or of an object's values, which may be objects themselves."""
    entries = tokens.values() if isinstance(tokens, dict) else tokens if isinstance(tokens, list) else []
    return [str(token_text(entry)) for entry in entries]


def _refuse_cut_beginnings(files):
    """A tokenizer.json may cut texts at their beginning, where tokenizer_config.json does not say it."""
    truncation = json_value(files.rules or {}, "truncation", dict, files.path, {})
    direction = json_value(truncation, "direction", str, f"{files.path}: truncation", "Right")
    if direction.lower() != "right" and not files.settings.get("truncation_side"):
        files.report.conflict(
            "truncation_side",
            f"{files.path}: truncation has direction={shown(direction)}, but kbert cuts a long text at its "
            "end",
        )


def _refuse_pairs_without_segments(files):
    """Refuses a BERT for pairs whose tokenizer, by its settings or its class, tells no texts apart."""
    reads_pairs = files.architecture.endswith(_OF_PAIRS)
    has_berts_tokens = files.role("cls_token") in (None, BERT_TOKENS.cls)
    if not (reads_pairs and files.has_segments and has_berts_tokens):
        return
    names, name = json_texts(files.settings, "model_input_names", files.settings_path), files.class_name
    if names:
        without = "" if "token_type_ids" in names else f"{files.settings_path}: model_input_names has"
    else:
        without = f"{files.folder}: tokenizer_class={name} gives" if _has_no_segments(name) else ""
    if without:
        files.report.conflict(
            "model_input_names",
            f"{without} no token_type_ids, so both texts of a pair are segment 0; in kbert the second is "
            "segment 1",
        )
    elif not names and name == "PreTrainedTokenizerFast":
        files.report.note(
            f"{files.settings_path} has no model_input_names: the second text of a pair is segment 1, as in "
            "transformers 4; in transformers 5 it is segment 0"
        )


def _has_no_segments(class_name) -> bool:
    """Whether a class has no token_type_ids by default; TokenizersBackend is of transformers 5 alone."""
    return class_name == "TokenizersBackend" or str(class_name).startswith("DistilBert")
