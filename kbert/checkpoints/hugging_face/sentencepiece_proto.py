"""The file of a SentencePiece model: its pieces with their scores, and its map of characters.

The package sentencepiece can only use a model. It comes with classes for the file, which some versions of
protobuf refuse, so the few fields that are needed are declared here.

Source: google/sentencepiece, src/sentencepiece_model.proto.
"""

import functools
from typing import NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_PACKAGE = "kbert.sentencepiece"
_UNIGRAM, _NORMAL = 1, 1  # a model's type, a piece's type
_TYPES_OF_SPECIAL_PIECES = {"<unk>": 2, "<s>": 3, "</s>": 3}
# Message -> field -> number, type, default. Enums are numbers in the file.
_MESSAGES: dict[str, dict[str, tuple[int, str, str | None]]] = {
    "SentencePiece": {
        "piece": (1, "string", None),
        "score": (2, "float", None),
        "type": (3, "int32", str(_NORMAL)),
    },
    "TrainerSpec": {"model_type": (3, "int32", str(_UNIGRAM)), "byte_fallback": (35, "bool", None)},
    "NormalizerSpec": {
        "precompiled_charsmap": (2, "bytes", None),
        "add_dummy_prefix": (3, "bool", "true"),
        "remove_extra_whitespaces": (4, "bool", "true"),
        "escape_whitespaces": (5, "bool", "true"),
    },
    "ModelProto": {
        "pieces": (1, "SentencePiece", None),
        "trainer_spec": (2, "TrainerSpec", None),
        "normalizer_spec": (3, "NormalizerSpec", None),
    },
}


class UnigramModel(NamedTuple):
    """What decides the ids of a unigram model.

    Attributes:
      pieces: (piece, score) in the order of the model, from its third on: <unk>, <s> and </s> come before.
      charsmap: how characters are normalized, as SentencePiece compiles it.
    """

    pieces: list[tuple[str, float]]
    charsmap: bytes


def parse_model(content: bytes, source) -> UnigramModel:
    """Reads the content of a model file.

    Args:
      content: of a model that `SentencePieceVocabulary` takes, in XLM-R's numbering.
      source: a name for messages, such as the path of the file.

    Raises:
      ValueError: for what is no model, and for a model that tokenizer.json cannot express: of another type
        than unigram, with other rules for spaces, or with pieces that are no ordinary ones.
    """
    model = _message_class()()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise ValueError(f"{source} is no whole SentencePiece model; copy the file again.") from None
    spec = model.normalizer_spec
    expected = {
        "a model of type unigram": model.trainer_spec.model_type == _UNIGRAM,
        "no byte_fallback": not model.trainer_spec.byte_fallback,
        "add_dummy_prefix": spec.add_dummy_prefix,
        "remove_extra_whitespaces": spec.remove_extra_whitespaces,
        "escape_whitespaces": spec.escape_whitespaces,
        "a map of characters": bool(spec.precompiled_charsmap),
        "ordinary pieces after the third": all(piece.type == _NORMAL for piece in model.pieces[3:]),
    }
    missing = [name for name, holds in expected.items() if not holds]
    if missing:
        raise ValueError(
            f"{source}: XLM-R's tokenizer has {', '.join(expected)}; this SentencePiece model differs in "
            f"{', '.join(missing)}."
        )
    return UnigramModel([(piece.piece, piece.score) for piece in model.pieces[3:]], spec.precompiled_charsmap)


def build_model(unigram: UnigramModel) -> bytes:
    """The content of a model file; `parse_model` reads it."""
    model = _message_class()()
    for piece, kind in _TYPES_OF_SPECIAL_PIECES.items():
        model.pieces.add(piece=piece, score=0.0, type=kind)
    for piece, score in unigram.pieces:
        model.pieces.add(piece=piece, score=score, type=_NORMAL)
    model.trainer_spec.model_type = _UNIGRAM
    model.normalizer_spec.precompiled_charsmap = unigram.charsmap
    return model.SerializeToString(deterministic=True)


@functools.cache
def _message_class():
    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind, default) in fields.items():
            field = described.field.add(name=name, number=number, default_value=default)
            field.label = field.LABEL_REPEATED if name == "pieces" else field.LABEL_OPTIONAL
            if kind in _MESSAGES:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelProto"))
