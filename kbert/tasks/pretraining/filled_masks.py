"""The words that a masked-LM model puts in the place of `[MASK]`s, in the graph."""

from typing import NamedTuple

from kbert.late_tensorflow import tf
from kbert.tasks.signatures.signature import TRUNCATED
from kbert.tokenization import text_inputs as inputs_of_texts
from kbert.tokenization.base_vocabulary import BaseVocabulary

_MOST_PIECES = 16  # of a candidate


def best_tokens(model, vocabulary: BaseVocabulary, inputs: dict, top_k, whole_words) -> dict:
    """The most probable tokens for every mask.

    Args:
      model: a model with the output `masked_lm_logits`.
      vocabulary: the `Vocabulary` of the model.
      inputs: encoder inputs of texts with masks, int32 tensors of shape [batch, length].
      top_k: int32 scalar: how many tokens for each mask.
      whole_words: bool scalar: leave out pieces that begin with ##, special tokens and unused ones. Of
        byte-level BPE, tokens without a blank stay where a text begins, if they are tokens with one too; of
        SentencePiece, those of scripts without blanks.
        Probabilities are over the whole vocabulary all the same.

    Returns:
      dict: `tokens` (string) and `probabilities` (float32), both [batch, masks, top_k], the most probable
      first, where `masks` is the largest number of masks of a text, at least 1, and a text with fewer is
      filled up with "" and 0; `num_masks` (int32 [batch]).
    """
    masked = tf.where(inputs["input_mask"] > 0, inputs["input_ids"], vocabulary.pad_id)
    positions, num_masks = _find_positions(masked, vocabulary.mask_id)
    logits = _logits(model, inputs | {"masked_lm_positions": positions}, vocabulary)
    # Not tf.nn.softmax: oneDNN's gives 0 beside a logit that is no number, and the damage would not show.
    log_total = tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
    whole = _are_whole_words(vocabulary, inputs["input_ids"], positions)
    allowed = tf.logical_or(whole, tf.logical_not(whole_words))
    number = tf.minimum(top_k, tf.reduce_min(tf.reduce_sum(tf.cast(allowed, tf.int32), axis=-1)))
    best, ids = tf.math.top_k(tf.where(allowed, logits, logits.dtype.min), k=number)
    is_mask = tf.sequence_mask(num_masks, tf.shape(positions)[1])[..., tf.newaxis]
    texts = tf.constant([vocabulary.as_text(token) for token in vocabulary.tokens])
    return {
        "tokens": tf.where(is_mask, tf.gather(texts, ids), ""),
        "probabilities": tf.where(is_mask, tf.exp(best - log_total), 0.0),
        "num_masks": num_masks,
    }


def candidate_probabilities(model, text_inputs: "inputs_of_texts.TextInputs", text, candidates) -> dict:
    """How probable each candidate is in the place of the one mask of its text.

    A candidate of k pieces is asked for with k masks in the place of the one. Its probability is the
    geometric mean of the probabilities of its pieces, each at its own mask: e to the mean of their
    logarithms. For a candidate of one piece that is the probability of `best_tokens`, also for a token of
    WordPiece that begins with ##. Byte-level BPE and SentencePiece put a blank before it if white space
    stands before the mask.

    Args:
      model, text_inputs: as for `best_tokens`.
      text: string tensor of shape [batch], each with one mask token.
      candidates: string tensor of shape [batch, candidates].

    Returns:
      dict of tensors of shape [batch, candidates]: `probabilities` (float32), 0 where the two others differ
      or are 0; `num_tokens` (int32), 0 for a candidate that is empty, has a character that the vocabulary
      lacks, begins with ## and is no token, or has more than 16 pieces; `num_masks` (int32), the masks of the
      text with as many for its one as the candidate has pieces, without those behind the longest sequence.
      And `TRUNCATED`, bool [batch]: whether it was cut for any of them.
    """
    masked = _masked_texts(text_inputs, text, candidates)
    inputs, truncated = text_inputs.pack_tokens(masked.tokens)
    mask_id = text_inputs.vocabulary.mask_id
    positions, num_masks = _find_positions(inputs["input_ids"], mask_id)
    inputs = inputs | {"masked_lm_positions": positions}
    scores = tf.nn.log_softmax(_logits(model, inputs, text_inputs.vocabulary))  # (texts, masks, vocabulary)

    pieces = masked.pieces
    number = tf.shape(scores)[1]  # a text that was cut may have fewer masks than a candidate has pieces
    dense = pieces.to_tensor(shape=[None, None])[:, :number]  # (candidates of all texts, masks)
    dense = tf.pad(dense, [[0, 0], [0, number - tf.shape(dense)[1]]])
    masks = tf.broadcast_to(tf.range(number), tf.shape(dense))
    rows = tf.broadcast_to(masked.rows[:, None], tf.shape(dense))
    log_probabilities = tf.gather_nd(scores, tf.stack([rows, masks, dense], axis=-1))
    lengths = tf.cast(pieces.row_lengths(), tf.int32)
    is_piece = masks < lengths[:, None]
    total = tf.reduce_sum(tf.where(is_piece, log_probabilities, 0.0), axis=1)
    mean = tf.math.divide_no_nan(total, tf.cast(lengths, tf.float32))

    unknown = tf.reduce_any(tf.equal(pieces, text_inputs.vocabulary.unk_id), axis=1) | masked.too_long
    num_tokens, num_masks = tf.where(unknown, 0, lengths), tf.gather(num_masks, masked.rows)
    outputs = {
        # Without pieces, or at the masks of others, the mean says nothing: of none it is 0, and e to it 1.
        "probabilities": tf.where((num_tokens > 0) & (num_masks == num_tokens), tf.exp(mean), 0.0),
        "num_tokens": num_tokens,
        "num_masks": num_masks,
    }
    outputs = {name: tf.reshape(value, tf.shape(candidates)) for name, value in outputs.items()}
    truncated = tf.reshape(tf.gather(truncated, masked.rows), tf.shape(candidates))
    return outputs | {TRUNCATED: tf.reduce_any(truncated, axis=1)}


class _MaskedTexts(NamedTuple):
    """The texts that the candidates are asked for with: one for each text and number of pieces.

    Args:
      tokens: int32 RaggedTensor of shape [texts, (pieces)]: a text with as many masks as a candidate has
        pieces.
      pieces: int32 RaggedTensor of shape [candidates of all texts, (pieces)].
      rows: int32 tensor of shape [candidates of all texts]: the row of `tokens` for each candidate.
      too_long: bool tensor of this shape: whether a candidate has more than `_MOST_PIECES`, and was cut.
    """

    tokens: "tf.RaggedTensor"
    pieces: "tf.RaggedTensor"
    rows: "tf.Tensor"
    too_long: "tf.Tensor"


def _masked_texts(text_inputs, text, candidates) -> _MaskedTexts:
    tokenizer, number = text_inputs.tokenizer, tf.shape(candidates)[1]
    behind_space = tf.repeat(tokenizer.have_space_before_masks(text), number)
    words = tf.reshape(candidates, [-1])
    pieces = _with_marked_tokens(tokenizer.tokenize_words(words, behind_space), words, text_inputs.vocabulary)
    # Every number of pieces is a text of its own: without a bound a small request takes all memory.
    too_long = pieces.row_lengths() > _MOST_PIECES
    pieces = pieces[:, :_MOST_PIECES]
    lengths = tf.maximum(tf.cast(pieces.row_lengths(), tf.int32), 1)
    owners = tf.repeat(tf.range(tf.shape(candidates)[0]), number)
    # Candidates of the same text with as many pieces share a text: most have one piece.
    most = tf.reduce_max(tf.concat([lengths, [1]], axis=0)) + 1
    keys, rows = tf.unique(owners * most + lengths)
    tokens = tf.gather(tokenizer.tokenize_with_masks(text), keys // most)
    masks = tf.gather(keys % most, tf.cast(tokens.value_rowids(), tf.int32))
    is_mask = tf.equal(tokens.flat_values, text_inputs.vocabulary.mask_id)
    counts = tf.where(is_mask, masks, 1)
    repeated = tf.repeat(tokens.flat_values, counts)
    row_lengths = tf.reduce_sum(tokens.with_flat_values(counts), axis=1)
    return _MaskedTexts(tf.RaggedTensor.from_row_lengths(repeated, row_lengths), pieces, rows, too_long)


def _with_marked_tokens(pieces, words, vocabulary: BaseVocabulary):
    """The pieces of words, of which one that begins with ## is a token of WordPiece, or unknown."""
    inner = [index for index, token in enumerate(vocabulary.tokens) if vocabulary.continues_word(token)]
    if vocabulary.kind != "wordpiece" or not inner:
        return pieces
    tokens = tf.constant([vocabulary.tokens[index] for index in inner])
    hashes = _hashes(tokens)
    order = tf.argsort(hashes)
    rows = tf.where(tf.strings.regex_full_match(words, "##.+"))
    marked = tf.gather_nd(words, rows)
    ranks = tf.searchsorted(tf.gather(hashes, order), _hashes(marked))
    nearest = tf.gather(order, tf.minimum(ranks, len(inner) - 1))
    is_token = tf.equal(tf.gather(tokens, nearest), marked)
    ids = tf.where(is_token, tf.gather(tf.constant(inner, tf.int32), nearest), vocabulary.unk_id)
    own = tf.tensor_scatter_nd_update(tf.fill(tf.shape(words), -1), rows, ids)
    others = pieces.with_flat_values(tf.gather(own, pieces.value_rowids()) < 0)
    alone = tf.RaggedTensor.from_row_lengths(ids, tf.cast(own >= 0, tf.int64))
    return tf.concat([alone, tf.ragged.boolean_mask(pieces, others)], axis=1)


def _hashes(texts):
    return tf.strings.to_hash_bucket_fast(texts, 1 << 62)


def _logits(model, inputs, vocabulary):
    # The embedding table may have more rows than the vocabulary has tokens.
    return model(inputs, training=False)["masked_lm_logits"][..., : len(vocabulary)]


def _find_positions(input_ids, token_id):
    """The positions of a token in each row, padded with 0 to the longest row; and their number per row."""
    is_token = input_ids == token_id  # (B, S)
    counts = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1)
    positions = tf.RaggedTensor.from_row_lengths(tf.cast(tf.where(is_token)[:, 1], tf.int32), counts)
    positions = positions.to_tensor()
    missing = tf.maximum(1 - tf.shape(positions)[1], 0)  # a text that was cut may have none left
    return tf.pad(positions, [[0, 0], [0, missing]]), counts


def _are_whole_words(vocabulary: BaseVocabulary, input_ids, positions):
    """Which tokens are whole words: bool [vocabulary], or [batch, masks, vocabulary] where it depends on the
    place."""
    special = vocabulary.special_tokens
    whole = tf.constant(
        [
            not (vocabulary.continues_word(token) or token.startswith("[unused") or token in special)
            for token in vocabulary.tokens
        ]
    )
    if vocabulary.marks_first_word:
        return whole
    before = tf.gather(input_ids, tf.maximum(positions - 1, 0), batch_dims=1)
    is_first = tf.logical_or(tf.equal(before, vocabulary.cls_id), tf.equal(before, vocabulary.sep_id))
    first = tf.constant([vocabulary.begins_text(token) for token in vocabulary.tokens])
    return tf.logical_or(whole, tf.logical_and(is_first[..., tf.newaxis], first))
