"""More positions, another vocabulary, segments, or fewer layers, for a model that is trained already.

The first functions work on checkpoints, the last two on the tables themselves: arrays by their names in a
checkpoint.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.config import EncoderConfig
from kbert.config.token_vectors_config import TokenVectorsConfig
from kbert.files.json_values import shown
from kbert.files.stored_tensor import stored_array
from kbert.tasks.similarity import prompts
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary import Vocabulary

POSITION_TABLE = "embeddings/position_embeddings"
WORD_TABLE = "embeddings/word_embeddings"
SEGMENT_TABLE = "embeddings/token_type_embeddings"
OUTPUT_BIAS = "masked_lm/output_bias"  # a generator's has its name in front
_SCORED_IDS = "keep_only_token_ids"


def with_positions(checkpoint: BertCheckpoint, max_position_embeddings: int) -> BertCheckpoint:
    """The same model with another longest sequence.

    Args:
      checkpoint: any checkpoint.
      max_position_embeddings: rows of the new position table; rows that no text has trained, and added ones,
        repeat the trained ones. A model with rotary positions has no table, and keeps its weights.

    Raises:
      ValueError: for a length below 1, or above the limit of `EncoderConfig`, and for one below the lengths
        of late interaction's queries and documents.
    """
    old_size = checkpoint.encoder.max_position_embeddings
    if isinstance(checkpoint.pooling, TokenVectorsConfig):
        checkpoint.pooling.require_positions(max_position_embeddings)
    # The config comes first, because it checks the number of positions before the table is made.
    encoder = dataclasses.replace(checkpoint.encoder, max_position_embeddings=max_position_embeddings)
    trained = min(checkpoint.trained_positions or old_size, max_position_embeddings)
    arrays = _read(checkpoint, POSITION_TABLE) if encoder.num_position_rows else {}
    arrays = {name: table[:trained] for name, table in arrays.items()}
    arrays = arrays and resize_positions(arrays, max_position_embeddings)
    longest = checkpoint.max_seq_length
    longest = max_position_embeddings if longest == old_size else min(longest, max_position_embeddings)
    what, of = ("position table resized", "rows") if arrays else ("longest sequence changed", "tokens")
    cut = f"; texts are cut at {longest} tokens still" if longest < max_position_embeddings else ""
    return _with_tables(
        checkpoint,
        arrays,
        f"{what} from {old_size} to {max_position_embeddings} {of}{cut}",
        encoder=encoder,
        max_seq_length=longest,
        trained_positions=trained,
    )


def with_vocabulary(checkpoint: BertCheckpoint, vocabulary: BaseVocabulary) -> BertCheckpoint:
    """The same model for another vocabulary: tokens of both keep their rows, new ones get the mean row.

    Args:
      checkpoint: any checkpoint.
      vocabulary: the new vocabulary, with the same rules but for the limit of a word, which stays.

    Raises:
      ValueError: for other rules, for other special tokens, when fewer than half of the new tokens are
        known to the model, or none of those that it scores alone; for one without a token that the model adds
        to texts; and for added tokens of another casing.
    """
    old = checkpoint.vocabulary
    if isinstance(vocabulary, Vocabulary) and isinstance(old, Vocabulary):
        # A vocab.txt alone does not say the limit of a word; the model's stays.
        vocabulary = vocabulary.with_rules(max_input_chars_per_word=old.rules.max_input_chars_per_word)
    ours, theirs = (vars(each.rules) if isinstance(each, Vocabulary) else {} for each in (vocabulary, old))
    for name in (name for name in ours if ours[name] != theirs.get(name)):
        raise ValueError(
            f"the new vocabulary has {name}={ours[name]}, {checkpoint.source} has {theirs.get(name)}: the "
            "same words would become other tokens; give one of the same casing and rules."
        )
    if vocabulary.special_tokens != old.special_tokens:
        raise ValueError(
            f"the new vocabulary has the special tokens {', '.join(vocabulary.special_tokens)}, "
            f"{checkpoint.source} has {', '.join(old.special_tokens)}; give one with the same."
        )
    own = [token for token in getattr(checkpoint.pooling, "own_tokens", ()) if token in old.ids]
    if missing := [token for token in own if token not in vocabulary.ids]:
        raise ValueError(
            f"{checkpoint.source} adds the tokens {shown(missing)} to texts, and the new vocabulary lacks "
            "them; keep them: --merge_slots=append of kbert vocab replaces no token."
        )
    kept = sum(token in old.ids for token in vocabulary.tokens)
    if 2 * kept < len(vocabulary):
        raise ValueError(
            f"only {kept} of the new vocabulary's {len(vocabulary)} tokens are known to {checkpoint.source}; "
            "extend its own vocabulary, or train from scratch."
        )
    if kept < len(vocabulary) and not old.other_casing and (other := vocabulary.other_casing):
        raise ValueError(
            f"the new vocabulary is of another casing than {checkpoint.source}: {other.what}; give "
            "one of the same casing and rules."
        )
    biases = [name for name in checkpoint.tensors if name.endswith(OUTPUT_BIAS)]
    arrays = resize_vocabulary(_read(checkpoint, WORD_TABLE, *biases), old.tokens, vocabulary.tokens)
    return _with_tables(
        checkpoint,
        arrays,
        f"token table resized from {len(old)} to {len(vocabulary)} tokens: {kept} kept, "
        f"{len(vocabulary) - kept} new with the mean of the old ones",
        encoder=dataclasses.replace(checkpoint.encoder, vocab_size=len(vocabulary)),
        vocabulary=vocabulary,
        **_vectors(checkpoint, vocabulary),
    )


def _vectors(checkpoint, vocabulary) -> dict[str, Any]:
    """What changes of the vectors of texts: they may name tokens, and count those of prompts."""
    values = _scored_tokens(checkpoint, vocabulary)
    lengths = getattr(checkpoint.pooling, "prompt_lengths", None)
    if lengths:
        values["prompt_lengths"] = prompts.prompt_lengths(
            checkpoint.pooling, vocabulary, checkpoint.max_seq_length
        )
    if not values:
        return {}
    changes = {"pooling": dataclasses.replace(checkpoint.pooling, **values)}
    if recorded := checkpoint.recorded:
        further = recorded.task_config.get("further_pooling", {}) | values
        task_config = recorded.task_config | {"further_pooling": further}
        changes["recorded"] = dataclasses.replace(recorded, task_config=task_config)
    return changes


def _scored_tokens(checkpoint, vocabulary) -> dict[str, Any]:
    """Where vectors of tokens are scored by their ids: these, in the new vocabulary.

    A token that is not there any more stands in no text.
    """
    ids = getattr(checkpoint.pooling, _SCORED_IDS, None)
    if ids is None:
        return {}
    tokens = [checkpoint.vocabulary.tokens[number] for number in ids]
    own = tuple(vocabulary.ids[token] for token in tokens if token in vocabulary.ids)
    if not own:
        raise ValueError(
            f"{checkpoint.source} scores the tokens {shown(tokens)} alone ({_SCORED_IDS}), and the new "
            "vocabulary has none of them; add one."
        )
    return {_SCORED_IDS: own}


def with_layers(checkpoint: BertCheckpoint, layers: Sequence[int]) -> BertCheckpoint:
    """The same model with some of its layers, in the order given; embeddings, pooler and heads stay.

    DistilBERT starts from the layers 0, 2, 4, 7, 9 and 11 of BERT-base
    (huggingface/transformers-research-projects, distillation/scripts/extract.py).

    Args:
      checkpoint: any checkpoint.
      layers: numbers of its layers, counted from 0.

    Raises:
      ValueError: for no layer, or one that the model lacks; for a model whose layers differ, as ModernBERT's.
    """
    number, encoder = checkpoint.encoder.num_hidden_layers, checkpoint.encoder
    if encoder.normalize_first or encoder.local_attention:
        raise ValueError(
            f"{checkpoint.source}: its layers are of several kinds (normalize_first="
            f"{encoder.normalize_first}, local_attention={encoder.local_attention}), so that some of them "
            "are no model; take all."
        )
    wrong = [layer for layer in layers if not 0 <= layer < number]
    if wrong or not layers:
        raise ValueError(
            f"layers={list(layers)}: {checkpoint.source} has the layers 0 to {number - 1}; choose "
            "one or more of these."
        )
    tensors = {name: t for name, t in checkpoint.tensors.items() if not name.startswith("layer_")}
    for new, old in enumerate(layers):
        prefix = f"layer_{old}/"
        tensors |= {
            f"layer_{new}/{name.removeprefix(prefix)}": tensor
            for name, tensor in checkpoint.tensors.items()
            if name.startswith(prefix)
        }
    note = f"layers {', '.join(map(str, layers))} of {number}"
    report = dataclasses.replace(checkpoint.report, notes=[*checkpoint.report.notes, note])
    encoder = dataclasses.replace(encoder, num_hidden_layers=len(layers))
    recorded = checkpoint.recorded
    if recorded:  # a threshold or a temperature that was chosen for all layers means nothing for some of them
        recorded = dataclasses.replace(recorded, chosen=None)
    return dataclasses.replace(checkpoint, encoder=encoder, tensors=tensors, report=report, recorded=recorded)


def as_bert(checkpoint: BertCheckpoint) -> BertCheckpoint:
    """An encoder without two segments as the BERT that gives the same numbers: where there is none, as in
    DistilBERT, both add zeros; a single one is there twice. Those of no BERT's positions stay as they are.

    DistilBERT's pooler that was never trained gets BERT's activation.
    """
    encoder = checkpoint.encoder
    other_positions = encoder.relative_attention_num_buckets or encoder.global_rope_theta is not None
    segments = EncoderConfig.type_vocab_size
    if encoder.type_vocab_size >= segments or other_positions:
        return checkpoint
    act = encoder.pooler_hidden_act
    if act == "relu" and "pooler/dense/kernel" not in checkpoint.tensors:
        act = EncoderConfig.pooler_hidden_act
    table = np.zeros((segments, encoder.embedding_width), np.float32)
    note = "no segments there: BERT's add zeros"
    if encoder.type_vocab_size:
        table = np.repeat(checkpoint.tensors[SEGMENT_TABLE].read(), segments, axis=0)
        note = "one segment there: BERT's two are both as it is"
    encoder = dataclasses.replace(encoder, type_vocab_size=segments, pooler_hidden_act=act)
    return _with_tables(checkpoint, {SEGMENT_TABLE: table}, note, encoder=encoder)


def with_zero_segment(checkpoint: BertCheckpoint) -> BertCheckpoint:
    """A BERT of one segment as Google's code computes it: the second text of a pair adds zeros.

    Source: google-research/bert, modeling.py, `embedding_postprocessor`, one_hot of the segments.
    """
    if checkpoint.encoder.type_vocab_size != 1:
        return checkpoint
    row = checkpoint.tensors[SEGMENT_TABLE].read()
    return _with_tables(
        checkpoint,
        {SEGMENT_TABLE: np.concatenate([row, np.zeros_like(row)])},
        "one segment there: the second adds zeros, as in Google's code",
        encoder=dataclasses.replace(checkpoint.encoder, type_vocab_size=2),
    )


def _read(checkpoint, *names):
    return {name: checkpoint.tensors[name].read() for name in names if name in checkpoint.tensors}


def _with_tables(checkpoint, arrays, note, **changes):
    report = dataclasses.replace(checkpoint.report, notes=[*checkpoint.report.notes, note])
    tensors = checkpoint.tensors | {name: stored_array(array) for name, array in arrays.items()}
    return dataclasses.replace(checkpoint, tensors=tensors, report=report, **changes)


def resize_positions(weights: dict, max_position_embeddings: int) -> dict:
    """Gives the position table another length.

    A longer table repeats the trained rows from the start: position 512 starts as a copy of position 0, so
    neighbouring rows stay neighbours except where a copy begins (Longformer, arXiv 2004.05150, section 5,
    found this far better than freshly initialised rows). A shorter table drops the rows at the end. Train the
    model further before you use it on longer texts.

    Args:
      weights: name -> array; must hold `embeddings/position_embeddings`.
      max_position_embeddings: rows of the new table.

    Returns:
      A new dict; the other arrays are the same objects.
    """
    table = np.asarray(weights[POSITION_TABLE])
    rows = np.arange(max_position_embeddings) % len(table)
    return weights | {POSITION_TABLE: table[rows]}


def resize_vocabulary(weights: dict, old_tokens, new_tokens) -> dict:
    """Gives the token table and the masked-LM bias the rows of another vocabulary.

    A token of both vocabularies keeps its row, whatever its new id. A new token gets the mean of the old rows
    and the mean of the old biases. Its logit is then the mean of all old logits for every text, so the new
    token starts neither too likely nor too unlikely.

    Args:
      weights: name -> array; must hold `embeddings/word_embeddings` and may hold output biases of masked LMs.
      old_tokens: the tokens of the table's rows, in order; the table may have more rows, which no token
        uses.
      new_tokens: the tokens of the new table's rows, in order, each once.

    Returns:
      A new dict; the other arrays are the same objects.
    """
    table = np.asarray(weights[WORD_TABLE])
    rows = {token: row for row, token in enumerate(old_tokens)}
    sources = [rows.get(token) for token in new_tokens]
    resized = {WORD_TABLE: _gather_rows(table[: len(old_tokens)], sources)}
    for name in weights:
        if name.endswith(OUTPUT_BIAS):
            resized[name] = _gather_rows(np.asarray(weights[name])[: len(old_tokens)], sources)
    return weights | resized


def _gather_rows(table, sources):
    """The rows at `sources`, and the mean of all where that is None."""
    mean = table.mean(axis=0, dtype=np.float64).astype(table.dtype)
    known = np.array([source is not None for source in sources])
    rows = table[[source or 0 for source in sources]]
    rows[~known] = mean
    return rows
