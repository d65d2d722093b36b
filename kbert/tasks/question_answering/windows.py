"""Questions and contexts -> the windows that the model reads, with the positions of their pieces."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.cli.progress import Progress
from kbert.cli.shares import say_share
from kbert.cli.warn_once import warn_once
from kbert.features import MAX_CONTEXT, PIECE_OFFSETS, SPAN_FEATURES
from kbert.late_tensorflow import tf
from kbert.tasks.question_answering.settings import QuestionAnsweringSettings
from kbert.tasks.question_answering.squad_files import Question
from kbert.tokenization import window_packer
from kbert.tokenization.character_classes import WHITE_SPACE

_QUESTIONS_AT_ONCE = 512
_BLANKS_BEFORE = f"^[{WHITE_SPACE}]+"


class ContextWindows(NamedTuple):
    """The windows of a batch of questions, in their order.

    Args:
      features: `input_ids`, `input_mask` and `segment_ids`, int32 tensors of shape [windows, length].
      owners: int32 tensor of shape [windows], the question that each window belongs to.
      offsets: int32 tensor of shape [windows, length, 2], from which character of the context (code point) up
        to which each piece comes; -1 where no piece of the context stands.
      max_context: bool tensor of shape [windows, length], whether an answer may begin here: another window
        shows less of the text around.
      truncated: bool tensor of shape [questions], whether pieces of the question were cut off; contexts are
        never cut, but come in windows.
    """

    features: dict
    owners: "tf.Tensor"
    offsets: "tf.Tensor"
    max_context: "tf.Tensor"
    truncated: "tf.Tensor"


class WindowMaker:
    """Tokenizes questions and contexts and packs them, in the graph: for training, judging and serving alike.

    Args:
      text_inputs: the `TextInputs`, whose tokenizer and `max_seq_length` are taken.
      doc_stride, max_query_length: see `WindowPacker`.

    Call arguments:
      questions: string tensor of shape [batch].
      contexts: string tensor of shape [contexts].
      context_ids: int tensor of shape [batch], which of the contexts each question is about; None where there
        is one for each.
      pad_to_longest: pad to the longest window instead of `max_seq_length`.

    Returns:
      `ContextWindows`.
    """

    def __init__(self, text_inputs, doc_stride: int, max_query_length: int):
        self._tokenizer = text_inputs.tokenizer
        self.max_query_length = max_query_length
        self._packer = window_packer.WindowPacker(
            text_inputs.vocabulary, text_inputs.max_seq_length, doc_stride, max_query_length
        )

    def __call__(self, questions, contexts, context_ids=None, pad_to_longest=False) -> ContextWindows:
        pieces = self._tokenizer.with_offsets(contexts)
        ids, starts, ends = pieces.ids, pieces.starts, pieces.ends
        if context_ids is not None:
            ids, starts, ends = (tf.gather(values, context_ids) for values in (ids, starts, ends))
        # Byte-level BPE makes tokens of blanks. transformers' run_qa.py cuts them off too.
        queries = self._tokenizer(tf.strings.regex_replace(questions, _BLANKS_BEFORE, ""))
        windows = self._packer(ids, queries, pad_to_longest)
        positions = window_packer.context_positions(windows)
        offsets = tf.stack(
            [_at(starts, windows.owners, positions), _at(ends, windows.owners, positions)], axis=-1
        )
        truncated = queries.row_lengths() > self.max_query_length
        return ContextWindows(
            windows.features, windows.owners, offsets, window_packer.has_max_context(windows), truncated
        )

    def warn_of_gaps(self):
        """Warns where windows do not overlap. A training counts the questions, see `say_lost_answers`."""
        stride, room = self._packer.doc_stride, self._packer.least_room
        if stride >= room:
            warn_once(
                f"max_seq_length={self._packer.max_seq_length} has {room} tokens of a text beside a question "
                f"of max_query_length={self.max_query_length}, no more than doc_stride={stride}: windows do "
                "not overlap, and an answer on an edge is whole in none; take a larger max_seq_length, or a "
                "model with a smaller doc_stride."
            )


def _at(values, owners, positions):
    """values[owner, position] of a RaggedTensor, int32 [windows, length]; -1 where the position is -1."""
    rows = tf.gather(tf.cast(values.row_starts(), tf.int32), owners)[:, tf.newaxis]
    flat = tf.pad(values.flat_values, [[0, 1]])  # so that there is something to take
    return tf.where(positions >= 0, tf.gather(flat, rows + tf.maximum(positions, 0)), -1)


def window_rows(questions: Sequence[Question], make_windows: WindowMaker) -> tuple[dict, np.ndarray]:
    """All windows of questions as rows of features.

    Args:
      questions: the questions; the first of several right answers is the one to learn.
      make_windows: the `WindowMaker`.

    Returns:
      (name -> int32 array of shape [windows, ...], owners as int32 array of shape [windows]).
    """
    batches, owners, num_cut, progress = [], [], 0, Progress("Tokenized", "questions", len(questions))
    for first in range(0, len(questions), _QUESTIONS_AT_ONCE):
        batch = questions[first : first + _QUESTIONS_AT_ONCE]
        windows = _make_windows(batch, make_windows)
        own = windows.owners.numpy()
        features = {name: values.numpy() for name, values in windows.features.items()}
        features[PIECE_OFFSETS] = windows.offsets.numpy()
        features[MAX_CONTEXT] = windows.max_context.numpy().astype(np.int32)
        features |= _positions(batch, own, features[PIECE_OFFSETS], features[MAX_CONTEXT])
        batches.append(features)
        owners.append(own + first)
        num_cut += int(windows.truncated.numpy().sum())
        progress.report(first + len(batch))
    what = f"are longer than max_query_length={make_windows.max_query_length} tokens, and are cut at the end."
    say_share(num_cut, len(questions), "questions", what)
    features = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    return features, np.concatenate(owners)


def say_lost_answers(
    questions: Sequence[Question], features: dict, owners: np.ndarray, settings: QuestionAnsweringSettings
):
    """Warns of windows that do not overlap, and of right answers that a model can never give: no window in
    which they may begin holds them whole, or they are too long. See `best_spans`.

    Args:
      questions, features, owners: those of `window_rows`.
      settings: say `doc_stride` and `max_answer_length`.
    """
    starts, ends = (features[name] for name in SPAN_FEATURES)
    may_begin = features[MAX_CONTEXT][np.arange(len(owners)), starts] > 0  # at [CLS] none may
    is_full_step = (features[PIECE_OFFSETS][..., 0] >= 0).sum(axis=1) <= settings.doc_stride
    has_answer = np.array([bool(question.answers) for question in questions])

    def say(are_so, what):
        say_share(np.sum(are_so), len(questions), "questions", f"{what}.", logging.WARNING)

    def any_window(are_so):
        return np.bincount(owners[are_so], minlength=len(questions)) > 0

    mend = f"set a smaller doc_stride than {settings.doc_stride}"
    say(
        any_window(np.append((owners[1:] == owners[:-1]) & is_full_step[:-1], False)),
        f"come in windows that do not overlap, and an answer on an edge is whole in none; {mend}",
    )
    length = features["input_ids"].shape[1]
    say(
        has_answer & ~any_window(may_begin),
        "have a first right answer that can never be given: no window in which it may begin holds it whole; "
        f"{mend}, or a larger max_seq_length than {length}",
    )
    longest = settings.max_answer_length
    say(
        any_window(may_begin & (ends - starts >= longest)),
        f"have a first right answer of more than max_answer_length={longest} tokens, which can never be "
        "given; set it larger",
    )


def _make_windows(questions, make_windows):
    """Each context is tokenized once, however many questions there are about it."""
    contexts = {context: number for number, context in enumerate(dict.fromkeys(q.context for q in questions))}
    return make_windows(
        tf.constant([question.question for question in questions]),
        tf.constant(list(contexts)),
        tf.constant([contexts[question.context] for question in questions]),
    )


def _positions(questions, owners, offsets, max_context):
    """`start_positions` and `end_positions` of the answer, int32 [windows]; 0 where a window lacks a part.

    The pieces of an answer are those that have a character of it, so an answer that begins inside of a piece
    becomes longer. (The original takes whole words, or the pieces in them that spell the answer.)
    """
    spans = np.array([_characters(question) for question in questions], np.int32)
    start, end = (spans[owners, side][:, np.newaxis] for side in (0, 1))  # (W, 1)
    inside = (offsets[..., 0] >= 0) & (offsets[..., 0] < end) & (offsets[..., 1] > start)  # (W, L)
    # Every piece of a context has maximal context in one window: so its pieces are counted once.
    once = np.bincount(owners, weights=(inside & (max_context > 0)).sum(axis=1), minlength=len(questions))
    whole = (inside.sum(axis=1) == once[owners]) & inside.any(axis=1)
    first, last = inside.argmax(axis=1), inside.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)
    positions = (np.where(whole, position, 0).astype(np.int32) for position in (first, last))
    return dict(zip(SPAN_FEATURES, positions, strict=True))


def _characters(question):
    """From which character up to which the answer stands, that is learnt; (0, 0) for none."""
    if not question.answers:
        return 0, 0
    answer = question.answers[0]
    return answer.start, answer.start + len(answer.text)
