"""Texts -> encoder inputs of queries and documents, and which of their tokens are scored."""

import re
from collections.abc import Sequence

import numpy as np
from absl import logging

from kbert.cli.shares import held_shares, say_shares
from kbert.config.token_vectors_config import FIXED, TokenVectorsConfig
from kbert.config.vectors_config import TEXT_TASKS, warn_of_written_prompts
from kbert.features import SCORED_TOKENS
from kbert.files.json_values import shown
from kbert.input_pipelines import labelled_files, text_reader
from kbert.late_tensorflow import tf
from kbert.tokenization import text_inputs as inputs_of_texts


class TokenInputs:
    """Tokenizes the texts of a task, in the graph.

    Args:
      config: how a text becomes a matrix.
      vocabulary: the model's.
      max_seq_length: the longest sequence of a text whose task has no length of its own.
      task: "query", "document" or None, which counts as a document of the model's own length.

    Call arguments:
      texts: string tensor of shape [batch], behind their prompts. What begins with one of `prompt_tokens` has
        that token first.

    Returns:
      dict of int32 tensors of shape [batch, length]: input_ids, input_mask, segment_ids, and `SCORED_TOKENS`,
      1 at the tokens whose vectors are compared.

    Attributes:
      max_seq_length: the length at which the texts of the task are cut.
      left_out: that of the `TextInputs`.
      fills: whether short texts are filled with tokens that are scored and not attended to: an encoder must
        compute them all the same.

    Raises:
      ValueError: for a token of the query's expansion or of a prompt that is not in the vocabulary, and a
        length that is too short for a text.

    Reference: sentence-transformers, base/modules/transformer.py, `Transformer.preprocess`, and
    multi_vector_encoder/modules/multi_vector_mask.py.
    """

    def __init__(self, config: TokenVectorsConfig, vocabulary, max_seq_length: int, task: str | None):
        is_query = task == TEXT_TASKS[0]
        self._text_inputs = inputs_of_texts.TextInputs(vocabulary, config.longest(task, max_seq_length))
        self.max_seq_length, self.left_out = self._text_inputs.max_seq_length, self._text_inputs.left_out
        self._expansion = config.query_expansion if is_query else None
        self._expansion_id = self._expansion and _expansion_id(self._expansion.token, vocabulary)
        self._tokens = PromptTokens(config, self._text_inputs.tokenizer)
        skips = (task or TEXT_TASKS[1]) in config.skiplist_tasks
        self._skipped = _ids(config.skiplist_words, vocabulary) if skips else []
        self._kept = [] if is_query else list(config.keep_only_token_ids or ())
        self.fills = self._expansion is not None and not self._expansion.attend

    def __call__(self, texts) -> dict:
        return self.rows(texts).features

    def rows(self, texts, pad_to_longest=True) -> "inputs_of_texts.TextRows":
        """As a call, with what was cut off; without `pad_to_longest` all of one length."""
        is_fixed = self._expansion is not None and self._expansion.strategy == FIXED
        to_longest = pad_to_longest and not is_fixed
        inputs, truncated = self._text_inputs.pack_tokens(self._tokens(texts), pad_to_longest=to_longest)
        inputs = inputs | {SCORED_TOKENS: inputs["input_mask"]}
        if self._expansion is not None:
            inputs = self._expanded(inputs)
        return inputs_of_texts.TextRows(inputs | {SCORED_TOKENS: self.scored(inputs)}, truncated)

    def scored(self, inputs: dict):
        """1 at the tokens whose vectors are compared, of inputs that `SCORED_TOKENS` has no skip list for."""
        ids, scored = inputs["input_ids"], inputs[SCORED_TOKENS]
        if self._skipped:
            scored = tf.where(_is_in(ids, self._skipped), 0, scored)
        if self._kept:
            scored = tf.where(_is_in(ids, self._kept), scored, 0)
        return scored

    def _expanded(self, inputs):
        """As wide as the expansion, with its token in the place of padding within its length."""
        length = self._expansion.length
        missing = tf.maximum(length - tf.shape(inputs["input_ids"])[1], 0)
        inputs = {name: tf.pad(value, [[0, 0], [0, missing]]) for name, value in inputs.items()}
        within = tf.range(tf.shape(inputs["input_ids"])[1])[None] < length
        filled = tf.logical_and(tf.equal(inputs["input_mask"], 0), within)
        inputs["input_ids"] = tf.where(filled, self._expansion_id, inputs["input_ids"])
        inputs[SCORED_TOKENS] = tf.where(filled, 1, inputs[SCORED_TOKENS])
        if self._expansion.attend:
            inputs["input_mask"] = tf.where(filled, 1, inputs["input_mask"])
        return inputs


class PromptTokens:
    """Texts -> ids, as by a tokenizer, of which the first may be one of `prompt_tokens`.

    Args:
      config: a `TokenVectorsConfig`.
      tokenizer: the `BaseTokenizer`.

    Call arguments:
      texts: string tensor of shape [batch].

    Returns:
      int32 RaggedTensor of shape [batch, (tokens)].
    """

    def __init__(self, config: TokenVectorsConfig, tokenizer):
        self._tokenizer = tokenizer
        longest_first = sorted(config.prompt_tokens, key=len, reverse=True)
        self._ids = {token: _prompt_id(token, tokenizer.vocabulary) for token in longest_first}

    def __call__(self, texts):
        if not self._ids:
            return self._tokenizer(texts)
        ids = tf.fill(tf.shape(texts), -1)
        for token, index in self._ids.items():
            is_first = tf.not_equal(_without_first(texts, re.escape(token)), texts)
            ids = tf.where(is_first & (ids < 0), index, ids)
        has_token = ids >= 0
        first = tf.RaggedTensor.from_row_lengths(ids[has_token], tf.cast(has_token, tf.int64))
        rest = _without_first(texts, "|".join(map(re.escape, self._ids)))
        return tf.concat([first, self._tokenizer(rest)], axis=1)


def _without_first(texts, pattern):
    return tf.strings.regex_replace(texts, f"^(?:{pattern})", "", replace_global=False)


def tokenize_groups(
    groups: list, prompts: list[str], text_inputs: "inputs_of_texts.TextInputs", config
) -> dict:
    """The features of examples, int32 (groups, texts, length), see `TokenVectorsConfig.row_length`: the first
    text of each is a query, the others are documents.

    Args:
      groups: `TextGroup`s; missing texts are empty ones.
      prompts: what stands before each text of a group.
      text_inputs: those of the model.
      config: a `TokenVectorsConfig`.
    """
    length, columns = config.row_length(text_inputs.max_seq_length), []
    with held_shares() as held:  # of all columns of documents together
        for number, prompt in enumerate(prompts):
            task = TEXT_TASKS[min(number, 1)]
            make_inputs = TokenInputs(config, text_inputs.vocabulary, text_inputs.max_seq_length, task)
            texts = [group.texts[number] if number < len(group.texts) else None for group in groups]
            warn_of_written_prompts(prompt, [text for text in texts if text is not None])
            prompted = ["" if text is None else prompt + text for text in texts]
            rows = [labelled_files.LabelledText(text, None, None) for text in prompted]
            features = text_reader.tokenize_rows(rows, make_inputs, f"{task}_length")
            padding = [(0, 0), (0, length - features["input_ids"].shape[1])]
            columns.append({name: np.pad(values, padding) for name, values in features.items()})
    say_shares(held)
    return {name: np.stack([column[name] for column in columns], axis=1) for name in columns[0]}


def _is_in(ids, chosen):
    return tf.reduce_any(tf.equal(ids[..., None], chosen), axis=-1)


def _expansion_id(token, vocabulary):
    if token is None:
        return vocabulary.mask_id
    if token not in vocabulary.tokens:
        raise ValueError(f"query_expansion: token={shown(token)} is not in the vocabulary.")
    return vocabulary.tokens.index(token)


def _prompt_id(token, vocabulary):
    if token.strip() not in vocabulary.ids:
        raise ValueError(f"prompt_tokens: {shown(token.strip())} is not in the vocabulary.")
    return vocabulary.ids[token.strip()]


def _ids(words: Sequence[str], vocabulary) -> list[int]:
    """Those of the words that are a piece; others never stand in a text, and are named."""
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    unknown = [word for word in words if word not in ids]
    if unknown:
        logging.info("skiplist_words that are no pieces of the vocabulary: %s", shown(unknown))
    return [ids[word] for word in words if word in ids]
