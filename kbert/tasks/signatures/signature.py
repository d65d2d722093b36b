"""Signatures: the functions by which a model is asked, in Python and in a SavedModel."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kbert.features import ENCODER_INPUTS
from kbert.tasks.signatures.token_id_checks import TokenIdLimits, checked_token_ids

# An output of every signature that takes texts: bool (batch,), true where pieces of an example's texts were
# cut off, so that the answer is of less than was asked about. Windows of a long text hold all of it: false.
TRUNCATED = "truncated"


class Signature(NamedTuple):
    """A function for calling a model, the same in Python and in a SavedModel.

    Args:
      inputs: name -> (dtype, shape), for example {"text": ("string", (None,))}.
      function: takes tensors with these names as arguments; returns a dict of tensors whose first axis is
        the batch.
    """

    inputs: dict[str, tuple[str, tuple]]
    function: Callable[..., dict]


def texts_signature(names: Iterable[str], function: Callable[..., dict]) -> Signature:
    """A signature that takes texts: string tensors of shape (batch,) with these names."""
    return Signature({name: ("string", (None,)) for name in names}, function)


def ids_signature(answer: Callable[..., dict], model, text_inputs, batch=(None,), settings=None) -> Signature:
    """A signature for clients that tokenize by themselves.

    It takes `input_ids`, `input_mask` and `segment_ids`, int32 of shape (*batch, length): the dtype of kbert's
    batches and LiteRT files. JSON has one kind of whole number, and int64 would be twice as many bytes over
    gRPC. What they must be, see `checked_token_ids`.

    Args:
      answer: takes the dict of these three, and the settings by name; returns a dict of tensors.
      model: a model with an `encoder`, or an encoder.
      text_inputs: the `TextInputs` with the model's vocabulary.
      batch: the axes before the last; None is any size.
      settings: name -> (dtype, shape) of further inputs.
    """
    encoder = getattr(model, "encoder", model)  # an encoder alone is its own
    limits = TokenIdLimits.of(encoder.config, text_inputs.vocabulary)

    def answer_ids(input_ids, input_mask, segment_ids, **given):
        inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
        return answer(checked_token_ids(inputs, limits), **given)

    ids = {name: ("int32", (*batch, None)) for name in ENCODER_INPUTS}
    return Signature(ids | (settings or {}), answer_ids)
