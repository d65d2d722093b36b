"""Signatures that tell what each token of a text attends to."""

from collections.abc import Callable

from kbert.late_tensorflow import tf
from kbert.tasks.signatures.signature import TRUNCATED, Signature, texts_signature
from kbert.tokenization import text_inputs as inputs_of_texts

# More tokens cannot be looked at, and the numbers of an answer grow with their square.
MAX_TOKENS = 64
_NAMES = {"serving_default": "attention", "pair": "attention_pair"}


def attention_signatures(
    signatures: dict[str, Signature],
    attention: "Callable[[dict], tf.Tensor]",
    text_inputs: "inputs_of_texts.TextInputs",
    prompt: str,
    takes_pairs: bool,
) -> dict[str, Signature]:
    """`attention` beside "serving_default", and `attention_pair` beside "pair".

    Inputs: `text`, and `text_pair` where there are two; a question is the first, its context the second.
    Outputs: `tokens`, string [batch, length], "" at padding; `attention`, float32 [batch, layers, heads,
    length, length], how much each token attends to each, 0 at padding; `truncated`, bool [batch]. Texts are
    cut at MAX_TOKENS, and a literal `[MASK]` in them is the mask token.

    Args:
      signatures: those of a task.
      attention: function from encoder inputs to attention probabilities [batch, layers, heads, length,
        length]; at padding they may be anything.
      text_inputs: the `TextInputs` of the model.
      prompt: what the model has before a text, as in "serving_default".
      takes_pairs: whether the model reads two texts together; one that compares the vectors of two reads each
        by itself, and so is it shown.

    Raises:
      ValueError: when "serving_default" takes something else than one text or two.
    """
    shown = inputs_of_texts.TextInputs(text_inputs.vocabulary, min(MAX_TOKENS, text_inputs.max_seq_length))
    tokens = tf.constant(text_inputs.vocabulary.tokens)

    def answer(text, text_pair=None):
        text = tf.strings.join([prompt, text]) if prompt else text
        inputs, truncated = shown.rows(text, text_pair, with_masks=True)
        real = inputs["input_mask"]
        both = tf.cast(real[:, None, :] * real[:, :, None], "float32")
        return {
            "tokens": tf.where(real > 0, tf.gather(tokens, inputs["input_ids"]), ""),
            "attention": attention(inputs) * both[:, None, None],
            TRUNCATED: truncated,
        }

    selected = {name: signatures[name] for name in _NAMES if name in signatures}
    return {
        _NAMES[name]: texts_signature(
            ("text", "text_pair")[: _num_texts(signature) if takes_pairs else 1], answer
        )
        for name, signature in selected.items()
    }


def _num_texts(signature):
    shapes = {name: shape for name, (dtype, shape) in signature.inputs.items() if dtype == "string"}
    if len(shapes) not in (1, 2) or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(
            "attention can be shown of one text or of two; this model takes "
            + ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
        )
    return len(shapes)
