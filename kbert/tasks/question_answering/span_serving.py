"""How a model of questions is asked: texts or ids -> a span of the context."""

import numpy as np

from kbert.late_tensorflow import tf
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.losses import mask_padding
from kbert.tasks.question_answering import graph_answers
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import TRUNCATED, ids_signature, texts_signature


class SpanServing(Serving):
    """Answers that are spans of a context, of any length."""

    inputs, _ = signature_inputs("question_answering")
    answers = ("answer", "start", "end", "score", "null_odds")
    in_windows = True

    def signatures(self, model, text_inputs):
        """`serving_default`: `question` and `context` (string [batch], of any length) -> `answer` (string
        [batch]), `start` and `end` (int32 [batch], in characters of the context), `score` and `null_odds`
        (float32 [batch]). `ids` takes the encoder inputs (int32 [windows, length]) and gives `start_logits`
        and `end_logits` (float32 [windows, length]), 0 at padding. Contexts are never cut, so `TRUNCATED` is
        true where the question was, at `max_query_length`."""
        make_windows, settings = self.task.window_maker(text_inputs), self.task.settings
        make_windows.warn_of_gaps()

        def answer_ids(inputs):
            is_token = tf.cast(inputs["input_mask"], tf.float32)
            outputs = model(inputs, training=False)
            return {name: value * is_token for name, value in outputs.items()}

        def answer_text(question, context):
            windows = make_windows(question, context, pad_to_longest=True)
            outputs = model(windows.features, training=False)
            best = graph_answers.best_spans(outputs, windows, tf.size(context), settings.max_answer_length)
            starts, ends = best.starts, best.ends
            if settings.unanswerable:
                no_answer = best.null_odds > settings.null_score_diff_threshold
                starts, ends = (tf.where(no_answer, 0, value) for value in (starts, ends))
            return {
                "answer": graph_answers.slice_contexts(context, starts, ends),
                "start": starts,
                "end": ends,
                "score": best.scores,
                "null_odds": best.null_odds,
                TRUNCATED: windows.truncated,
            }

        return {
            "serving_default": texts_signature(self.inputs, answer_text),
            "ids": ids_signature(answer_ids, model, text_inputs),
        }

    def same_answers(self, outputs, expected, batch):
        """For each window whether its best start and its best end are the same."""
        both = [
            np.argmax(mask_padding(outputs[name], batch), axis=-1)
            == np.argmax(mask_padding(expected[name], batch), axis=-1)
            for name in ("start_logits", "end_logits")
        ]
        return both[0] & both[1]

    def longest(self, max_seq_length):
        """Of a question: contexts are never cut."""
        return f"{self.task.settings.max_query_length} tokens of a question (max_query_length)"

    def check_inputs(self, inputs):
        if not inputs["context"].strip():
            raise ValueError("the context is empty: there is no text that an answer could be taken from.")

    def answer(self, outputs, inputs):
        """The answer, where it stands in the context (in characters), its score and `null_odds`."""
        return {
            "answer": outputs["answer"].decode("utf-8"),
            "start": int(outputs["start"]),
            "end": int(outputs["end"]),
            "score": float(outputs["score"]),
            "null_odds": float(outputs["null_odds"]),
        }
