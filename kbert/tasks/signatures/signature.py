"""Signatures: the functions by which a model is asked, in Python and in a SavedModel."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kbert.features import ENCODER_INPUTS
from kbert.late_tensorflow import tf, traced_function
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
      texts: the inputs that the tf.Examples of this signature hold as features, in the form of `inputs`; None
        for signatures that take no Examples.
    """

    inputs: dict[str, tuple[str, tuple]]
    function: Callable[..., dict]
    texts: dict[str, tuple[str, tuple]] | None = None

    @property
    def specs(self) -> "list[tf.TensorSpec]":
        """Of each input, in order."""
        return [tf.TensorSpec(shape, dtype, name=name) for name, (dtype, shape) in self.inputs.items()]

    def as_graph(self):
        """The function as a graph, traced once for all sizes; it takes its arguments in order."""
        return traced_function(self.function, self.specs)


def traced_once(signature: Signature) -> Signature:
    """The signature as a graph. Others that call it, such as for the second text of a pair, share this one:
    tracing an encoder takes half a second."""
    return signature._replace(function=signature.as_graph())


def texts_signature(names: Iterable[str], function: Callable[..., dict]) -> Signature:
    """A signature that takes texts: string tensors of shape (batch,) with these names."""
    return Signature({name: ("string", (None,)) for name in names}, function)


def ids_inputs(batch=(None,)) -> dict[str, tuple[str, tuple]]:
    """The inputs of a signature for clients that tokenize by themselves.

    `input_ids`, `input_mask` and `segment_ids` are int32 (*batch, length): the dtype of kbert's batches and
    LiteRT files. JSON has one kind of whole number, and int64 would be twice as many bytes over gRPC.

    Args:
      batch: the axes before the last; None is any size.
    """
    return {name: ("int32", (*batch, None)) for name in ENCODER_INPUTS}


def ids_reader(model, text_inputs) -> Callable[..., dict]:
    """The function from the three tensors of `ids_inputs` to a dict of them, see `checked_token_ids`.

    Args:
      model: a model with an `encoder`, or an encoder.
      text_inputs: the `TextInputs` with the model's vocabulary.
    """
    encoder = getattr(model, "encoder", model)  # an encoder alone is its own
    limits = TokenIdLimits.of(encoder.config, text_inputs.vocabulary)

    def read(input_ids, input_mask, segment_ids):
        inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
        return checked_token_ids(inputs, limits)

    return read


def ids_signature(answer: Callable[[dict], dict], model, text_inputs, batch=(None,)) -> Signature:
    """A signature that takes `ids_inputs` alone.

    Args:
      answer: function from the dict of these to a dict of tensors.
      model, text_inputs: as for `ids_reader`.
      batch: as for `ids_inputs`.
    """
    read = ids_reader(model, text_inputs)

    def answer_ids(input_ids, input_mask, segment_ids):
        return answer(read(input_ids, input_mask, segment_ids))

    return Signature(ids_inputs(batch), answer_ids)


def row_signatures(
    names: Iterable[str], answer: Callable[[dict], dict], model, text_inputs
) -> dict[str, Signature]:
    """ "serving_default", which takes texts, and "ids", which takes `ids_inputs`; each example is one row.

    Args:
      names: of one text or of two.
      answer, model, text_inputs: as for `ids_signature`.
    """

    def answer_texts(text, text_pair=None):
        rows, truncated = text_inputs.rows(text, text_pair)
        return answer(rows) | {TRUNCATED: truncated}

    return {
        "serving_default": texts_signature(names, answer_texts),
        "ids": ids_signature(answer, model, text_inputs),
    }
