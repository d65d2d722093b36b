"""Byte-level BPE in a Hugging Face folder: RoBERTa's tokenizer, or ModernBERT's."""

from kbert.checkpoints.hugging_face.tokenizer_json import CLASSES_OF_THE_FILE, Rules, TokenizerFiles
from kbert.files.json_values import json_value, shown
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import (
    MERGES_FILE,
    VOCABULARY_FILE,
    BytePairVocabulary,
    in_id_order,
    read_files,
)

# Key of the model in tokenizer.json -> RoBERTa's value, and what a missing key means.
_MODEL = {
    "dropout": (0.0, 0.0),
    "continuing_subword_prefix": ("", ""),
    "end_of_word_suffix": ("", ""),
    "byte_fallback": (False, False),
    "ignore_merges": (False, False),
}


def read_bpe(files: TokenizerFiles, do_lower_case: bool | None) -> BytePairVocabulary:
    """The vocabulary; it has no casing.

    Args:
      files: `vocab.json` and `merges.txt`, or `tokenizer.json`, or all three.
      do_lower_case: the user's flag, or None. Settings that may differ, if allowed: `do_lower_case`,
        `normalizer`, `pre_tokenizer`, `add_prefix_space`, `added_tokens`, and those of the model, such as
        `dropout`. Special tokens that are BERT's make it ModernBERT's, see `BytePairVocabulary`.

    Raises:
      ValueError: for files that contradict each other, and for a setting that kbert cannot follow.
    """
    slow, contents = files.folder / VOCABULARY_FILE, {}
    if slow.is_file():
        contents[slow] = read_files(slow, files.folder / MERGES_FILE)
        _vocabulary(contents[slow], slow)
    if files.rules is not None:
        vocab = json_value(files.model, "vocab", dict, f"{files.path}: model", {})
        added, pieces = files.all_added_tokens(), files.prompt_pieces()
        vocab = added | vocab if BERT_TOKENS.cls in added else vocab  # ModernBERT's stand there alone
        vocab = {token: index for token, index in vocab.items() if token not in files.prompt_tokens} | pieces
        contents[files.path] = (in_id_order(vocab, files.path), _read_merges(files))
    source, content = files.same_content(contents)
    vocabulary = _vocabulary(content, source)
    if files.rules is not None:
        _refuse_other_rules(files, vocabulary)
    _refuse_added_tokens(files, vocabulary)
    return vocabulary


def _vocabulary(content, source):
    tokens, merges = content
    special_tokens = BERT_TOKENS if BERT_TOKENS.cls in tokens else ROBERTA_TOKENS
    return BytePairVocabulary(tokens, merges, special_tokens, str(source))


def _refuse_added_tokens(files, vocabulary):
    runs = {vocabulary.tokens[index] for index in vocabulary.space_runs.values()}
    marks = vocabulary.added_marks
    files.added_tokens({*vocabulary.special_tokens, *runs, *marks})
    if marks:
        files.report.note(f"{len(marks)} added tokens, such as {min(marks)}, are ordinary text in kbert")


def _read_merges(files):
    merges = json_value(files.model, "merges", list, f"{files.path}: model", [])
    pairs = [tuple(pair.split(" ")) if isinstance(pair, str) else pair for pair in merges]
    for rank, pair in enumerate(pairs, start=1):
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(isinstance(token, str) for token in pair):
            raise ValueError(f"{files.path}: merge {rank} should be two tokens, received {shown(pair)}.")
    return [(left, right) for left, right in pairs]


def _refuse_other_rules(files, vocabulary):
    files.refuse_other_model(_MODEL)
    normalizers, expected = files.steps("normalizer", "normalizers"), _normalizer(vocabulary)
    if normalizers != ([expected] if expected else []):
        files.refuse_other_steps("normalizer", normalizers, "'NFC'" if expected else "null")
    steps = files.steps("pre_tokenizer", "pretokenizers")
    if [step.get("type") for step in steps] != ["ByteLevel"] or steps[0].get("use_regex") is False:
        files.refuse_other_steps("pre_tokenizer", steps, "GPT-2's 'ByteLevel'")
    elif files.reads_words:
        # The class that takes tokenizer.json as it is has no other setting.
        settings = steps[0] if files.class_name in CLASSES_OF_THE_FILE else files.settings
        has_space = bool(settings.get("add_prefix_space"))
        if has_space and not files.architecture:
            files.report.warn(
                f"{files.folder} is a tagger's, and puts a space before each word; kbert does so in "
                "token_classification alone"
            )
        if files.architecture and not has_space:
            files.report.warn(
                f"{files.folder}: add_prefix_space is not true; kbert puts a space before each word of a "
                "tagger",
                ", the first and the marks too: a model that never saw these may answer otherwise",
            )
    elif steps[0].get("add_prefix_space", True):
        files.report.conflict(
            "add_prefix_space", f"{files.path}: add_prefix_space=true; kbert puts no space before a text"
        )


# --------------------------------------------------------------------------------------- writing


def _normalizer(vocabulary):
    return {"type": "NFC"} if vocabulary.is_modernbert else None


def bpe_settings(vocabulary: BytePairVocabulary) -> dict:
    """What is its own in tokenizer_config.json."""
    name = "PreTrainedTokenizerFast" if vocabulary.is_modernbert else "RobertaTokenizer"
    return {"tokenizer_class": name, "add_prefix_space": False}


def put_space_before_words(settings: dict, content: dict):
    """Writes into tokenizer_config.json's and tokenizer.json's content how a tagger cuts its words."""
    for part in (settings, content["pre_tokenizer"], content["post_processor"]):
        if "add_prefix_space" in part:  # no key of a template
            part["add_prefix_space"] = True


def bpe_rules(vocabulary: BytePairVocabulary) -> Rules:
    """What the tokenizer.json of a vocabulary says."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {key: ours for key, (ours, _) in _MODEL.items()}
    return Rules(
        normalizer=_normalizer(vocabulary),
        pre_tokenizer=byte_level,
        decoder=byte_level,
        model={
            "type": "BPE",
            **model,
            "dropout": None,
            "unk_token": None,
            "fuse_unk": False,
            "vocab": vocabulary.ids,
            "merges": [list(pair) for pair in vocabulary.merges],
        },
    )
