"""Byte-level BPE in a Hugging Face folder: RoBERTa's tokenizer."""

from kbert.checkpoints.hugging_face.tokenizer_json import Rules, TokenizerFiles
from kbert.files.json_values import json_value, shown
from kbert.tokenization.bpe.bpe_vocabulary import (
    MERGES_FILE,
    VOCABULARY_FILE,
    BytePairVocabulary,
    in_id_order,
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
        `dropout`.

    Raises:
      ValueError: for files that contradict each other, and for a setting that kbert cannot follow.
    """
    slow, contents = files.folder / VOCABULARY_FILE, {}
    if slow.is_file():
        vocabulary = BytePairVocabulary.from_files(slow, files.folder / MERGES_FILE)
        contents[slow] = (list(vocabulary.tokens), list(vocabulary.merges))
    if files.rules is not None:
        vocab = json_value(files.model, "vocab", dict, f"{files.path}: model", {})
        contents[files.path] = (in_id_order(vocab, files.path), _read_merges(files))
        _refuse_other_rules(files)
    source, (tokens, merges) = files.same_content(contents)
    return BytePairVocabulary(tokens, merges, source=str(source))


def _read_merges(files):
    merges = json_value(files.model, "merges", list, f"{files.path}: model", [])
    pairs = [tuple(pair.split(" ")) if isinstance(pair, str) else pair for pair in merges]
    for rank, pair in enumerate(pairs, start=1):
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(isinstance(token, str) for token in pair):
            raise ValueError(f"{files.path}: merge {rank} should be two tokens, received {shown(pair)}.")
    return [(left, right) for left, right in pairs]


def _refuse_other_rules(files):
    files.refuse_other_model(_MODEL)
    if normalizers := files.steps("normalizer", "normalizers"):
        files.refuse_other_steps("normalizer", normalizers, "null")
    steps = files.steps("pre_tokenizer", "pretokenizers")
    if [step.get("type") for step in steps] != ["ByteLevel"] or steps[0].get("use_regex") is False:
        files.refuse_other_steps("pre_tokenizer", steps, "GPT-2's 'ByteLevel'")
    elif steps[0].get("add_prefix_space", True):
        files.report.conflict(
            "add_prefix_space", f"{files.path}: add_prefix_space=true; kbert puts no space before a text"
        )


# --------------------------------------------------------------------------------------- writing


def bpe_rules(vocabulary: BytePairVocabulary) -> Rules:
    """What the tokenizer.json of a vocabulary says."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {key: ours for key, (ours, _) in _MODEL.items()}
    return Rules(
        normalizer=None,
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
