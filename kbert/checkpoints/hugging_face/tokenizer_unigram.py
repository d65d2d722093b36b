"""SentencePiece's unigram models in a Hugging Face folder: XLM-R's tokenizer.

The model file decides the ids. A tokenizer.json holds the same pieces, scores and map of characters: enough
to make the file again.
"""

import base64
import binascii

import numpy as np

from kbert.checkpoints.hugging_face.sentencepiece_proto import UnigramModel, build_model, parse_model
from kbert.checkpoints.hugging_face.tokenizer_json import CLASSES_OF_THE_FILE, Rules, TokenizerFiles
from kbert.files.json_values import json_value, shown
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import (
    MODEL_FILE,
    WORD_START,
    SentencePieceVocabulary,
)

MODEL_FILES = (MODEL_FILE, "spiece.model")
_FIRST, _LAST = ["<s>", "<pad>", "</s>", "<unk>"], "<mask>"  # XLM-R's, around the pieces of the model
# Further steps that change nothing, or what SentencePiece does as well.
_ONE_SPACE, _ONE_MARK = (
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content} for content in (" ", WORD_START)
)
_STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
_HARMLESS = (_ONE_SPACE, _ONE_MARK, _STRIP)


def read_unigram(files: TokenizerFiles, do_lower_case: bool | None) -> SentencePieceVocabulary:
    """The vocabulary, in XLM-R's numbering; it has no casing of its own.

    Args:
      files: `sentencepiece.bpe.model` (or `spiece.model`), or `tokenizer.json`, or both.
      do_lower_case: the user's flag, or None. Settings that may differ, if allowed: `do_lower_case`,
        `normalizer`, `pre_tokenizer`, `add_prefix_space`, `added_tokens`, `byte_fallback`.

    Raises:
      ValueError: for files that are broken or contradict each other, and for a setting that kbert cannot
        follow.
    """
    contents, vocabulary = {}, None
    for path in (files.folder / name for name in MODEL_FILES):
        if path.is_file() and vocabulary is None:
            vocabulary = SentencePieceVocabulary.from_file(path)
            contents[path] = parse_model(vocabulary.model, path)
    if files.rules is not None:
        contents[files.path] = UnigramModel(_read_pieces(files), _read_charsmap(files))
        _refuse_other_rules(files)
    source, unigram = files.same_content(contents)
    return vocabulary or SentencePieceVocabulary(build_model(UnigramModel(*unigram)), source=str(source))


def _read_pieces(files):
    """The pieces between XLM-R's special tokens."""
    vocab = json_value(files.model, "vocab", list, f"{files.path}: model", [])
    try:
        # A model file has UTF-8 and float32.
        pieces = [(piece.encode().decode(), float(np.float32(score))) for piece, score in vocab]
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"{files.path}: model.vocab should list tokens with their scores.") from None
    names = [piece for piece, _ in pieces]
    if [*names[:4], *names[-1:]] != [*_FIRST, _LAST] or files.model.get("unk_id") != 3:
        raise ValueError(
            f"{files.path}: its tokens are {shown(names[:4])} ... {shown(names[-1:])} with "
            f"unk_id={shown(files.model.get('unk_id'))}; expected XLM-R's, {' '.join(_FIRST)} ... {_LAST} "
            "with unk_id=3."
        )
    return pieces[4:-1]


def _read_charsmap(files):
    steps = files.steps("normalizer", "normalizers")
    maps = [step.get("precompiled_charsmap") for step in steps if step.get("type") == "Precompiled"]
    try:
        (charsmap,) = [base64.b64decode(content, validate=True) for content in maps]
    except (TypeError, ValueError, binascii.Error):
        kinds = [step.get("type") for step in steps]
        raise ValueError(
            f"{files.path}: its normalizer, {shown(kinds)}, should have a 'Precompiled' step with "
            "SentencePiece's map of characters."
        ) from None
    return charsmap


def _refuse_other_rules(files):
    files.refuse_other_model({"byte_fallback": (False, False)})
    normalizers = files.steps("normalizer", "normalizers")
    if normalizers[0].get("type") != "Precompiled" or any(step not in _HARMLESS for step in normalizers[1:]):
        files.refuse_other_steps("normalizer", normalizers, "'Precompiled'")
    steps = files.steps("pre_tokenizer", "pretokenizers")
    kinds = [step.get("type") for step in steps]
    last = steps[-1] if steps else {}
    if (
        kinds not in (["WhitespaceSplit", "Metaspace"], ["Metaspace"])
        or last.get("replacement") != WORD_START
    ):
        files.refuse_other_steps("pre_tokenizer", steps, "'WhitespaceSplit', 'Metaspace'")
    elif last.get("prepend_scheme", "always") != "always" or last.get("add_prefix_space") is False:
        files.report.conflict(
            "add_prefix_space", f"{files.path}: it puts no space before a text, as SentencePiece does"
        )
    if files.class_name in CLASSES_OF_THE_FILE and not _drops_blanks(normalizers, kinds):
        files.report.conflict(
            "normalizer",
            f"{files.path}: its steps keep a blank at the end of a text, or two side by side, which "
            "SentencePiece drops",
        )


def _drops_blanks(normalizers, kinds):
    """Whether blanks at the end of a text, and more than one side by side, are dropped."""
    is_stripped = _STRIP in normalizers
    before = normalizers[: normalizers.index(_STRIP)] if is_stripped else normalizers
    has_one = _ONE_SPACE in normalizers or _ONE_MARK in normalizers
    return _ONE_MARK not in before and ("WhitespaceSplit" in kinds or (is_stripped and has_one))


# --------------------------------------------------------------------------------------- writing


def unigram_rules(vocabulary: SentencePieceVocabulary) -> Rules:
    """What the tokenizer.json of a vocabulary says. Raises ValueError for a model that XLM-R's cannot be."""
    unigram = parse_model(vocabulary.model, "the vocabulary")
    charsmap = base64.b64encode(unigram.charsmap).decode("ascii")
    metaspace = {
        "type": "Metaspace",
        "replacement": WORD_START,
        "prepend_scheme": "always",
        "split": True,
    }
    pieces = [*((token, 0.0) for token in _FIRST), *unigram.pieces, (_LAST, 0.0)]
    return Rules(
        normalizer={"type": "Precompiled", "precompiled_charsmap": charsmap},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        decoder=metaspace,
        model={"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": list(map(list, pieces))},
    )
