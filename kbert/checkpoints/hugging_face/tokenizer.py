"""Reads and writes the tokenizer of a Hugging Face folder, of any kind, and its longest input.

Settings that would give other ids for ordinary text are refused; the error names them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kbert.checkpoints.hugging_face.families import FAMILIES
from kbert.checkpoints.hugging_face.tokenizer_bpe import (
    bpe_rules,
    bpe_settings,
    put_space_before_words,
    read_bpe,
)
from kbert.checkpoints.hugging_face.tokenizer_json import (
    CLASSES_OF_THE_FILE,
    ROLES_FILE,
    Rules,
    TokenizerFiles,
    build_tokenizer_json,
    reads_words,
    token_text,
)
from kbert.checkpoints.hugging_face.tokenizer_keys import (
    check_tokenizer_keys,
    refuse_more_special_tokens,
    refuse_other_masks,
    refuse_tokens_in_prompts,
)
from kbert.checkpoints.hugging_face.tokenizer_unigram import MODEL_FILES, read_unigram, unigram_rules
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import (
    read_wordpiece,
    wordpiece_rules,
    wordpiece_settings,
)
from kbert.checkpoints.report import Report
from kbert.checks import SHORTEST_LENGTH
from kbert.files.json_values import json_count, json_value, shown, shown_name
from kbert.files.output_path import other_files
from kbert.files.whole_file import write_json
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES


class _Kind(NamedTuple):
    """How a kind of vocabulary is read and written.

    Args:
      model: its name in tokenizer.json.
      classes: what the names of its classes in transformers begin with.
      files: the files that hold it, beside tokenizer.json; one of them is enough.
      has_prefix_space: whether it puts a space before a text; None where that has no meaning.
      read: (files, do_lower_case) -> vocabulary.
      rules: vocabulary -> `Rules`.
      settings: vocabulary -> the settings of tokenizer_config.json that are its own.
    """

    model: str
    classes: tuple[str, ...]
    files: tuple[str, ...]
    has_prefix_space: bool | None
    read: Callable[[TokenizerFiles, bool | None], BaseVocabulary]
    rules: Callable[..., Rules]
    settings: Callable[..., dict]


_KINDS = {
    "wordpiece": _Kind(
        "WordPiece",
        ("Bert", "DistilBert", "Electra", "MPNet"),
        ("vocab.txt",),
        None,
        read_wordpiece,
        wordpiece_rules,
        wordpiece_settings,
    ),
    "bpe": _Kind(
        "BPE",
        ("Roberta",),
        ("vocab.json",),
        False,
        read_bpe,
        bpe_rules,
        bpe_settings,
    ),
    "sentencepiece": _Kind(
        "Unigram",
        ("XLMRoberta",),
        MODEL_FILES,
        True,
        read_unigram,
        unigram_rules,
        lambda _: {"tokenizer_class": "XLMRobertaTokenizer"},
    ),
}
# These take whatever the files are.
_GENERIC_CLASSES = (None, *CLASSES_OF_THE_FILE)
# How many separators the classes put between two texts, whatever their special tokens and tokenizer.json are.
_SEPARATORS = {"Bert": 1, "DistilBert": 1, "Electra": 1, "Roberta": 2, "XLMRoberta": 2, "MPNet": 2}
_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # as in `SpecialTokens`
# transformers writes int(1e30) for "no limit known".
_NO_LIMIT = 10**9


def read_tokenizer(
    folder: Path,
    do_lower_case: bool | None,
    report: Report,
    prompts: Mapping[str, str] = MappingProxyType({}),
    architecture: str | None = None,
    prompt_tokens: Sequence[str] = (),
) -> tuple[BaseVocabulary, int | None]:
    """The vocabulary, and the longest input (`model_max_length`) or None.

    Args:
      folder: holds `vocab.txt`; or `vocab.json` and `merges.txt`; or `sentencepiece.bpe.model`; or
        `tokenizer.json` of one of these kinds; and perhaps `tokenizer_config.json`.
      do_lower_case: the user's flag, or None.
      report: takes notes. Settings that may differ, if allowed: `tokenizer_class`, `special_tokens`,
        `post_processor`, `add_prefix_space`, `do_lower_case`, `prompts`, `mask_token`, and those of the
        kind.
      prompts: what a model of vectors puts before its texts, by name.
      architecture: the class of the model that reads the ids; None for a vocabulary alone, whose segments and
        masks are a later model's own.
      prompt_tokens: as `find_prompt_tokens` gives them; of WordPiece and BPE, which take them for pieces.

    Raises:
      ValueError: for missing or contradictory files, or a setting that kbert cannot follow.
    """
    files = TokenizerFiles(folder, report, architecture, prompt_tokens)
    check_tokenizer_keys(files)
    kind, path = _find_kind(files), files.settings_path
    _refuse_other_settings(files, kind, do_lower_case)
    vocabulary = kind.read(files, do_lower_case)
    if vocabulary.kind == "sentencepiece":
        files.prompt_tokens = ()  # no pieces of its model
    refuse_more_special_tokens(files, vocabulary)
    refuse_other_masks(files, vocabulary)
    refuse_tokens_in_prompts(files, vocabulary, prompts)
    roles = dict(zip(_ROLES, vocabulary.special_tokens, strict=True))
    if vocabulary.kind == "sentencepiece" and files.class_name not in CLASSES_OF_THE_FILE:
        # transformers 5 packs texts with these, the last lines of `XLMRobertaTokenizer.__init__`
        roles |= {"bos_token": roles["cls_token"], "eos_token": roles["sep_token"]}
    for name in (path.name, ROLES_FILE):
        _refuse_other_roles(folder / name, files.read(name) or {}, roles, report)
    if vocabulary.kind == "sentencepiece":
        files.added_tokens(vocabulary.special_tokens)
    files.refuse_other_ids(vocabulary)
    files.refuse_other_processor(vocabulary)
    _refuse_other_packing(files, vocabulary)
    length = "model_max_length" if files.settings.get("model_max_length") is not None else "max_len"
    longest = json_count(files.settings, length, path, SHORTEST_LENGTH)
    return vocabulary, None if longest is None or longest >= _NO_LIMIT else longest


def find_prompt_tokens(folder: Path, prompts: Mapping[str, str]) -> tuple[str, ...]:
    """The added tokens of a folder with which prompts begin, such as ColBERT's "[Q] " and "[D] "."""
    written = [prompt for prompt in prompts.values() if prompt and isinstance(prompt, str)]
    if not written:
        return ()
    added = list(filter(str.strip, TokenizerFiles(folder, Report("", str(folder)), "").all_added_tokens()))
    tokens = (max(filter(prompt.startswith, added), key=len, default="") for prompt in written)
    return tuple(dict.fromkeys(filter(None, tokens)))


def _find_kind(files) -> _Kind:
    """The kind that the class is of and the files are of; they must agree."""
    folder, kinds = files.folder, _KINDS.values()
    name, start = files.class_name, _class_start(files)
    by_class = [kind for kind in kinds if start in kind.classes]
    if not by_class and name not in _GENERIC_CLASSES:
        classes = ", ".join(f"{start}Tokenizer" for kind in kinds for start in kind.classes)
        report_name = f"{folder}: tokenizer_class={shown(name)} is none that kbert has ({classes})"
        files.report.conflict("tokenizer_class", report_name)
    by_files = [kind for kind in kinds if any((folder / file).is_file() for file in kind.files)]
    if files.rules is not None:
        by_files = _kinds_that_agree(files, by_files)
    if not by_files:
        raise ValueError(
            f"{folder} holds neither vocab.txt nor tokenizer.json, nor vocab.json with merges.txt, nor "
            f"{MODEL_FILES[0]}; copy the model's vocabulary there."
        )
    if by_class and by_class[0] not in by_files:
        raise ValueError(
            f"{folder}: tokenizer_class={name} is a tokenizer of type {by_class[0].model}, but the files are "
            f"those of type {by_files[0].model}; copy the files of one model."
        )
    return by_class[0] if by_class else by_files[0]


def _kinds_that_agree(files, by_files):
    """The kind of tokenizer.json, in a list; the other file must be of this kind too."""
    model = files.model
    # Old files do not say the type.
    untyped = "BPE" if "merges" in model else "Unigram" if "unk_id" in model else "WordPiece"
    type_name = json_value(model, "type", str, f"{files.path}: model", untyped)
    kinds = [kind for kind in _KINDS.values() if kind.model == type_name]
    if not kinds:
        raise ValueError(
            f"{files.path} is a tokenizer of type {shown_name(type_name)}; kbert has "
            f"{', '.join(kind.model for kind in _KINDS.values())}."
        )
    if by_files and kinds[0] not in by_files:
        raise ValueError(
            f"{files.path} is a tokenizer of type {type_name}, but beside it are the files of type "
            f"{by_files[0].model}; remove those that are not this model's."
        )
    return kinds


def _refuse_other_settings(files, kind, do_lower_case):
    if kind.has_prefix_space is None:
        return
    path, has_space = files.settings_path, kind.has_prefix_space
    theirs = json_value(files.settings, "add_prefix_space", bool, path, has_space)
    value = files.settings.get("add_prefix_space", theirs)
    if value is None and files.class_name not in CLASSES_OF_THE_FILE:
        theirs = False  # as transformers 5's own classes take it
    if theirs != has_space and not (theirs and files.reads_words):
        files.report.conflict(
            "add_prefix_space",
            f"{path}: add_prefix_space={json.dumps(value)}; in kbert a tokenizer of type {kind.model} "
            f"{'always puts a' if has_space else 'puts no'} space before a text",
        )
    if do_lower_case:
        files.report.conflict(
            "do_lower_case",
            f"do_lower_case: {files.folder} is a tokenizer of type {kind.model}, which does not lower-case",
        )
    if json_value(files.settings, "do_lower_case", bool, path):
        files.report.note(f"{path}: do_lower_case=true has no effect on a tokenizer of type {kind.model}")


def _refuse_other_packing(files, vocabulary):
    """Refuses special tokens of another family than the class, which packs pairs by its own rule.

    Source: transformers 5, the last lines of `BertTokenizer.__init__` and `RobertaTokenizer.__init__`.
    """
    start, name = _class_start(files), files.class_name
    if name is None and files.model_type in FAMILIES:
        family = FAMILIES[files.model_type].name
        if family in _KINDS[vocabulary.kind].classes:  # else the files decide, as of multilingual MiniLM
            start, name = family, f"{family}Tokenizer"
    theirs, ours = _SEPARATORS.get(start), vocabulary.pair_separators
    if theirs not in (None, ours) and files.model_type != "modernbert":  # whose class does not count
        cls, sep = vocabulary.special_tokens.cls, vocabulary.special_tokens.sep
        pair, own = (f"{cls} a {' '.join([sep] * number)} b {sep}" for number in (theirs, ours))
        files.report.conflict(
            "tokenizer_class",
            f"{files.folder}: transformers' {name} makes {pair}, whatever tokenizer.json says, but "
            f"kbert makes {own} with these special tokens; if tokenizer.json is right, write "
            "tokenizer_class=PreTrainedTokenizerFast",
        )


def _class_start(files) -> str:
    return (files.class_name or "").removesuffix("Fast").removesuffix("Tokenizer")


def _refuse_other_roles(path, values, roles, report):
    for role, token in roles.items():
        theirs = token_text(values.get(role))
        if theirs not in (None, token):
            report.conflict("special_tokens", f"{path}: {role} is {shown(theirs)}, not {token!r}")


# --------------------------------------------------------------------------------------- writing

_WRITTEN_FILES = {*VOCABULARY_FILES, "tokenizer.json", "tokenizer_config.json", ROLES_FILE}


def files_beside_tokenizer(folder: Path) -> list[str]:
    """The files of a folder that `write_tokenizer` does not write."""
    return other_files(folder, _WRITTEN_FILES)


def write_tokenizer(
    folder: Path,
    vocabulary: BaseVocabulary,
    max_seq_length: int | None = None,
    has_segments: bool = True,
    architecture: str = "",
    prompt_tokens: Sequence[str] = (),
):
    """The files that transformers and `tokenizers` read: the vocabulary's own, tokenizer.json, settings.

    Args:
      folder: where to write.
      vocabulary: of any kind.
      max_seq_length: the longest input; None where no model says it.
      has_segments: whether the model, if it packs texts as BERT, takes their segments.
      architecture: the class of the model; empty for a vocabulary alone.
      prompt_tokens: those of ColBERT's prompts, which are never split.

    Raises:
      ValueError: for a SentencePiece model that XLM-R's tokenizer cannot be.
    """
    kind, roles = _KINDS[vocabulary.kind], dict(zip(_ROLES, vocabulary.special_tokens, strict=True))
    has_segments = has_segments and vocabulary.pair_separators == 1
    content = build_tokenizer_json(vocabulary, kind.rules(vocabulary), prompt_tokens)
    settings = {
        **kind.settings(vocabulary),
        **({} if max_seq_length is None else {"model_max_length": max_seq_length}),
        "model_input_names": [
            "input_ids",
            *(["token_type_ids"] if has_segments else []),
            "attention_mask",
        ],
        **roles,
    }
    if vocabulary.kind == "bpe" and reads_words(architecture):
        put_space_before_words(settings, content)
    vocabulary.write_files(folder)
    write_json(roles, folder / ROLES_FILE)
    write_json(settings, folder / "tokenizer_config.json")
    write_json(content, folder / "tokenizer.json")
