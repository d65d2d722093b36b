"""VectorsConfig: what stands before a text, so that a model of vectors knows what it is."""

from collections.abc import Callable
from typing import NamedTuple

from kbert.config.pooling_config import PoolingConfig
from kbert.config.vectors_config import VectorsConfig
from kbert.late_tensorflow import tf
from kbert.layers import sequence_pooling
from kbert.tasks.signatures.signature import Signature, row_signatures
from kbert.tokenization import text_inputs as inputs_of_texts


class PromptedInputs(NamedTuple):
    """`TextInputs` that put a prompt before every text.

    Args:
      text_inputs: tokenize and pack.
      prompt: the text; "" for none.
    """

    text_inputs: "inputs_of_texts.TextInputs"
    prompt: str

    @property
    def vocabulary(self):
        return self.text_inputs.vocabulary

    def rows(self, text, text_pair=None) -> "inputs_of_texts.TextRows":
        """See `TextInputs.rows`; string tensors of shape [batch]."""
        return self.text_inputs.rows(tf.strings.join([self.prompt, text]) if self.prompt else text, text_pair)


def pooled(pooling: PoolingConfig, model, prompt_name: str | None = None) -> Callable[[dict], dict]:
    """The function from encoder inputs to {"embedding": vectors} as a prompt, or the default, has them."""
    pool = sequence_pooling.SequencePooling.of(pooling, prompt_name, model)
    encoder = getattr(model, "encoder", model)  # an encoder alone is its own

    def embed(inputs):
        states = encoder(inputs, training=False)["sequence_output"]
        return {"embedding": pool(states, inputs["input_mask"])}

    return embed


def vector_signatures(
    pooling: PoolingConfig, embed: Callable[[dict], dict], model, text_inputs
) -> dict[str, Signature]:
    """The signatures from one text to its `embedding`.

    "serving_default" puts the default prompt before it, and "ids" is for those who have done so. Beside a
    default prompt, each other one has a signature of its own, `prompt_<name>`. Where the tokens of prompts do
    not count, so that a vector depends on where its prompt ends, it has `ids_<name>` as well.

    Args:
      pooling: the model's.
      embed: function from encoder inputs to {"embedding": vectors} as the default prompt has them.
      model, text_inputs: as for `row_signatures`.
    """
    signatures = row_signatures(("text",), embed, model, PromptedInputs(text_inputs, pooling.prompt()))
    for name in other_prompts(pooling):
        counts_others = pooling.skipped_tokens(name) != pooling.skipped_tokens()
        own = PromptedInputs(text_inputs, pooling.prompt(name))
        behind = row_signatures(("text",), pooled(pooling, model, name), model, own)
        signatures[f"prompt_{name}"] = behind["serving_default"]
        if counts_others:
            signatures[f"ids_{name}"] = behind["ids"]
    return signatures


def other_prompts(pooling: VectorsConfig) -> list[str]:
    """The names of the prompts that a text cannot have by "serving_default": other ones than the default
    prompt, where there is one; and those behind which other tokens count."""
    default, skipped = pooling.prompt(), pooling.skipped_tokens()
    return [
        name
        for name, prompt in pooling.text_prompts.items()
        if (default and prompt != default) or pooling.skipped_tokens(name) != skipped
    ]


def prompt_lengths(pooling: PoolingConfig, vocabulary, max_seq_length: int) -> dict[str, int]:
    """How many tokens of a text behind each prompt are the prompt's, with the one that begins every text.

    As sentence-transformers counts them: those of the prompt alone, without the last special token.
    """
    names = [name for name, prompt in pooling.prompts.items() if prompt]
    if not names:
        return {}
    texts = tf.constant([pooling.prompts[name] for name in names])
    mask = inputs_of_texts.TextInputs(vocabulary, max_seq_length).rows(texts).features["input_mask"]
    return {name: int(number) - 1 for name, number in zip(names, mask.numpy().sum(axis=1), strict=True)}
