"""An example of a set of records -> text for people: its tokens, its labels in words, and what is wrong.

What is to predict is written [shown->answer]: [MASK->word] is masked, [other->word] is replaced by a random
token, [word->word] is unchanged.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, PRETRAINING_LABELS, WORD_FEATURE
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.python.packing import second_texts

# What next_sentence_labels say, by the pairing that made the records.
NEXT_SENTENCE_WORDS = {
    "sentence_pairs": ("the second text really comes next", "the second text is a random one"),
    "sentence_order": (
        "the two texts stand in their own order",
        "the two texts are swapped, or the second is a random one",
    ),
}


class ShownToken(NamedTuple):
    """One token of an example, not padding.

    `shown` is the piece in the record; `answer` the piece to predict there, or None; `kind` is "" where
    nothing is predicted, else "masked", "replaced" or "kept"; `segment` is 1 in the second text.
    """

    shown: str
    answer: str | None
    kind: str
    segment: int

    def __str__(self):
        if self.answer is None:
            return self.shown
        return f"[{self.shown.strip('[]') or self.shown}->{self.answer}]"


def sequences(example: Mapping[str, np.ndarray]) -> list[Mapping[str, np.ndarray]]:
    """The sequences of an example: itself, or if it has several, such as choices, the inputs of each."""
    if example["input_ids"].ndim == 1:
        return [example]
    return [
        {name: example[name][number] for name in ENCODER_INPUTS}
        for number in range(len(example["input_ids"]))
    ]


def shown_tokens(example: Mapping[str, np.ndarray], vocabulary: BaseVocabulary) -> list[ShownToken]:
    """The tokens of an example, without its padding.

    Args:
      example: arrays input_ids, input_mask, segment_ids and, where masks are stored, the masked-LM features.
      vocabulary: that of its ids.
    """
    length, tokens = int(np.sum(example["input_mask"])), vocabulary.tokens
    segments = second_texts(example, vocabulary.sep_id, vocabulary.pair_separators).astype(int).tolist()
    hidden = {position: piece(tokens, index) for position, index in answers(example)}
    text_tokens = []
    for position in range(length):
        shown, answer = piece(tokens, example["input_ids"][position]), hidden.get(position)
        kind = ""
        if answer is not None:
            is_mask = shown == vocabulary.special_tokens.mask
            kind = "masked" if is_mask else "kept" if shown == answer else "replaced"
        text_tokens.append(ShownToken(shown, answer, kind, segments[position]))
    return text_tokens


def piece(tokens: Sequence[str], index: int) -> str:
    """The piece of an id; an id that the vocabulary does not have is shown as a number."""
    return tokens[index] if 0 <= index < len(tokens) else f"<id {index}>"


def answers(example: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """The (position, id) of the positions to predict: those with a weight."""
    if "masked_lm_weights" not in example:
        return []
    real = example["masked_lm_weights"] > 0
    positions, ids = example["masked_lm_positions"][real], example["masked_lm_ids"][real]
    return list(zip(positions.tolist(), ids.tolist(), strict=True))


def describe_labels(example: Mapping[str, np.ndarray], settings: Mapping) -> list[str]:
    """What an example's labels mean, one line each: next sentence, sentence order, or a label's name.

    Args:
      example: arrays by feature name.
      settings: the manifest's `settings`, which hold the pairing or the names of the labels.
    """
    lines = []
    if "next_sentence_labels" in example:
        label = int(example["next_sentence_labels"][0])
        words = NEXT_SENTENCE_WORDS.get(settings.get("pairing", ""), NEXT_SENTENCE_WORDS["sentence_pairs"])
        lines.append(f"next_sentence_labels {label}: {words[label] if label in (0, 1) else 'unknown'}")
    if LABEL_FEATURE in example:
        lines.append(_described_labels(example, label_names(settings)))
    return lines


def _described_labels(example, names):
    label_ids = example[LABEL_FEATURE].tolist()
    if WORD_FEATURE in example:
        labelled = np.flatnonzero(example[WORD_FEATURE] >= 0).tolist()
        labels = [f"{position}={_label_name(label_ids[position], names)}" for position in labelled]
        return f"token labels ({len(labels)}): {' '.join(labels)}"
    if isinstance(label_ids, int):
        return f"{LABEL_FEATURE} {label_ids}: {_label_name(label_ids, names)}"
    labels = [_label_name(label, names) for label, holds in enumerate(label_ids) if holds]
    return f"labels ({len(labels)}): {', '.join(labels) or 'none'}"


def _label_name(label, names):
    return names[label] if 0 <= label < len(names) else "no name in the manifest"


def label_names(settings: Mapping) -> list[str]:
    """The labels' names in id order, from the manifest of fine-tuning records."""
    dataset = settings.get("dataset", {})
    return dataset.get("labels") or dataset.get("choices") or []


def describe_record(
    example: Mapping[str, np.ndarray], vocabulary: BaseVocabulary, settings: Mapping | None = None
) -> str:
    """An example as a few lines for people to read; the second text begins a new line.

    Args:
      example: arrays by feature name.
      vocabulary: that of its ids.
      settings: the manifest's `settings`, for the meaning of labels.
    """
    if len(several := sequences(example)) > 1:
        others = {name: value for name, value in example.items() if name not in ENCODER_INPUTS}
        lines = [describe_record(sequence, vocabulary) for sequence in several]
        lines += [f"  {line}" for line in describe_labels(others, settings or {})]
        return "\n".join(lines)
    text_tokens, tokens = shown_tokens(example, vocabulary), vocabulary.tokens
    first = " ".join(str(token) for token in text_tokens if token.segment == 0)
    second = " ".join(str(token) for token in text_tokens if token.segment)
    lines = [first] + ([f"  + {second}"] if second else [])
    room = len(example["input_ids"])
    num_second = sum(token.segment > 0 for token in text_tokens)
    texts = f"first text {len(text_tokens) - num_second}, second {num_second}, " if second else ""
    lines.append(f"  length {len(text_tokens)} of {room}: {texts}padding {room - len(text_tokens)}")
    lines += [f"  {line}" for line in describe_labels(example, settings or {})]
    if "masked_lm_weights" in example:
        words = [f"{position}={piece(tokens, index)}" for position, index in answers(example)]
        lines.append(f"  answers ({len(words)}): {' '.join(words)}")
    shown = {*ENCODER_INPUTS, *PRETRAINING_LABELS, LABEL_FEATURE, WORD_FEATURE}
    lines += [_other_feature(name, example[name]) for name in example if name not in shown]
    lines += [f"  WRONG: {problem}" for problem in inconsistencies(example, len(tokens))]
    return "\n".join(lines)


def _other_feature(name, values):
    if values.ndim > 1 and values.dtype.kind == "f":  # vectors: nobody reads their numbers
        return f"  {name}: {values.dtype} of shape {list(values.shape)}, at most {np.abs(values).max():.4g}"
    return f"  {name} {values.tolist()}"


def inconsistencies(example: Mapping[str, np.ndarray], vocab_size: int) -> list[str]:
    """Sentences that say what is inconsistent in an example; an empty list for a sound one."""
    problems = []
    mask = example["input_mask"]
    length = int(np.sum(mask))
    if not (np.isin(mask, (0, 1)).all() and mask[:length].all()):
        problems.append("input_mask is not ones followed by zeros.")
    if example["segment_ids"][length:].any():
        problems.append("segment_ids are not 0 at the padding.")
    for name in ("input_ids", "masked_lm_ids"):
        if name in example and not ((0 <= example[name]) & (example[name] < vocab_size)).all():
            problems.append(f"{name} are not all in the vocabulary, which has {vocab_size} tokens.")
    if "masked_lm_weights" in example:
        weights, positions = example["masked_lm_weights"], example["masked_lm_positions"]
        count = int(np.sum(weights > 0))
        if not (np.isin(weights, (0, 1)).all() and weights[:count].all()):
            problems.append("masked_lm_weights are not ones followed by zeros.")
        if positions[count:].any() or example["masked_lm_ids"][count:].any():
            problems.append("masked_lm_positions or masked_lm_ids are not 0 where the weight is 0.")
        real = positions[:count]
        if (np.diff(real) <= 0).any() or (real <= 0).any() or (real >= length - 1).any():
            problems.append("masked_lm_positions do not rise, or leave the text between [CLS] and [SEP].")
    return problems
