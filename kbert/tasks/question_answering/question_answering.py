"""A question and a text -> the span of the text that answers."""

from dataclasses import replace

from kbert.checks import require
from kbert.features import MAX_CONTEXT, PIECE_OFFSETS, SPAN_FEATURES, Feature, encoder_features
from kbert.heads import classification_head
from kbert.heads.parts import token_head
from kbert.tasks import task_model
from kbert.tasks.file_columns import task_files
from kbert.tasks.losses import (
    correct,
    cross_entropies,
    example_mean,
    example_sum,
    example_weights,
    mask_padding,
)
from kbert.tasks.pages.answers import answer_sections
from kbert.tasks.pages.page import Page
from kbert.tasks.question_answering import squad_scores
from kbert.tasks.question_answering.settings import QuestionAnsweringSettings
from kbert.tasks.question_answering.span_answers import (
    postprocess_predictions,
    score_answer,
    write_answers,
)
from kbert.tasks.question_answering.span_serving import SpanServing
from kbert.tasks.question_answering.windows import WindowMaker, say_lost_answers, window_rows
from kbert.tasks.task import CheckpointKind, ExampleFeatures, SoftTarget, Task
from kbert.tokenization import window_packer

START_POSITIONS, END_POSITIONS = SPAN_FEATURES
_DOC_STRIDE = 128  # run_squad.py's, a third of its 384 tokens


class _Page(Page):
    def example_sections(self, examples, predictions, most_examples):
        """See `answer_sections`; nothing for records, which hold no texts."""
        if examples is None:
            return []
        answers = zip(examples, self.task.span_answers(examples, predictions), strict=True)
        scored = [score_answer(question, answer, self.task.settings) for question, answer in answers]
        return answer_sections(examples, scored, most_examples)


class QuestionAnswering(Task):
    """First and last token of the answer; position 0, the [CLS], where the window holds none.

    A context that is longer than a row becomes several windows, each with the question in front, and an
    answer comes from all of them. The answer is a slice of the context, by the offsets of the tokens.
    docs/question_answering.md tells all rules.

    Features of a window, int32, beside the encoder inputs: `start_positions` and `end_positions` (scalars),
    `piece_offsets` (max_seq_length, 2) and `max_context` (max_seq_length,). The loss is the mean of both
    cross-entropies, each over the tokens of the sequence. The original has padding among them.

    Args:
      settings: those of `QuestionAnsweringSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, QuestionAnswering
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = QuestionAnswering(unanswerable=True).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'start_logits': (2, 7), 'end_logits': (2, 7)}

    Reference: arXiv 1810.04805, sections 4.2 and 4.3; google-research/bert, run_squad.py.
    """

    name = "question_answering"
    settings_class = QuestionAnsweringSettings
    row_settings = ("unanswerable", "doc_stride", "max_query_length")
    best_metric = "f1"  # of texts: most windows of a long one have no answer, and [CLS] is right there
    best_metric_of_records = "span_accuracy"
    no_scores = ("_thresh", "_threshold", "baseline_exact_match", "baseline_f1")
    percent_scores = ("f1", "exact_match", "exact")
    checkpoint = CheckpointKind("BertForQuestionAnswering")
    files = task_files(name)
    serving_class = SpanServing
    page_class = _Page
    parts = token_head("span")

    @classmethod
    def settings_at(cls, settings, max_seq_length):
        """With 128 a text for 8,192 tokens would be read 64 times."""
        return replace(settings, doc_stride=settings.doc_stride or max(_DOC_STRIDE, max_seq_length // 3))

    @classmethod
    def require_settings_read(cls, settings):
        threshold = settings.null_score_diff_threshold
        require(
            settings.unanswerable or not threshold,
            f"null_score_diff_threshold={threshold} is that of questions without an answer, but unanswerable "
            "is false; leave one of them out.",
        )

    @property
    def collected(self):
        return ("start_logits", "end_logits", PIECE_OFFSETS, MAX_CONTEXT)

    # ------------------------------------------------------------------------------- examples

    def features(self, max_seq_length):
        scalars = {name: Feature("int32", ()) for name in SPAN_FEATURES}
        return encoder_features(max_seq_length) | {
            **scalars,
            PIECE_OFFSETS: Feature("int32", (max_seq_length, 2)),
            MAX_CONTEXT: Feature("int32", (max_seq_length,)),
        }

    def examples_to_features(self, examples, text_inputs):
        """The windows of all questions. Of several right answers, the first is the one to learn.

        Raises:
          ValueError: as `check_examples` does.
        """
        self.check_examples(examples, text_inputs.max_seq_length)
        settings = self.settings_at(self.settings, text_inputs.max_seq_length)
        features, owners = window_rows(examples, self.window_maker(text_inputs))
        say_lost_answers(examples, features, owners, settings)
        return ExampleFeatures(features, owners)

    def check_examples(self, examples, max_seq_length):
        """Refuses a length without room for the text, and questions without an answer unless the settings say
        `unanswerable`."""
        window_packer.require_room(max_seq_length, self.settings.max_query_length)
        if not self.settings.unanswerable:
            for question in examples:
                if question.answers == ():
                    raise ValueError(
                        f"question {question.id!r} has no answer, but task_settings.unanswerable is false; "
                        "set it to true (SQuAD v2.0), or leave the question out."
                    )

    def window_maker(self, text_inputs):
        """The `WindowMaker` of these settings."""
        settings = self.settings_at(self.settings, text_inputs.max_seq_length)
        return WindowMaker(text_inputs, settings.doc_stride, settings.max_query_length)

    def describe(self, row, vocabulary):
        start, end = int(row[START_POSITIONS]), int(row[END_POSITIONS])
        pieces = (vocabulary.tokens[i] for i in row["input_ids"][start : end + 1])
        answer = " ".join(pieces) if start else "none in this window"
        return [f"{super().describe(row, vocabulary)[0]} -> {answer}"]

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder):
        """Encoder inputs -> float32 `start_logits` and `end_logits`, both (batch, seq_length)."""
        encoder = encoder.with_outputs("sequence_output")
        inputs = task_model.token_inputs(encoder.input)
        head = classification_head.SpanHead(encoder.config, dtype=encoder.policy, name="span")
        read = encoder(inputs)["sequence_output"]
        logits = head(read)  # (B, 2, S)
        outputs = {"start_logits": logits[:, 0], "end_logits": logits[:, 1]}
        return task_model.TaskModel(self, encoder, inputs, outputs, read)

    def loss_sums(self, outputs, batch, training=False):
        start, end = (cross_entropies(*pair) for pair in _logits_and_positions(outputs, batch))
        return {"loss": example_sum((start + end) / 2.0, batch)}

    def soft_targets(self, outputs, batch):
        """Both distributions over the tokens of a sequence, each with half of the loss."""
        return {
            "loss": tuple(
                SoftTarget(mask_padding(outputs[name], batch), example_weights(batch), share=0.5)
                for name in ("start_logits", "end_logits")
            )
        }

    # ------------------------------------------------------------------------------- scores

    def metric_sums(self, outputs, batch):
        start, end = (correct(*pair) for pair in _logits_and_positions(outputs, batch))
        return {
            "start_accuracy": example_mean(start, batch),
            "end_accuracy": example_mean(end, batch),
            "span_accuracy": example_mean(start * end, batch),
        }

    def score(self, examples, predictions):
        """The official scores, in percent; see `squad_scores`. Records hold no texts, so none of them."""
        if examples is None:
            return {}
        answers = self.span_answers(examples, predictions)
        texts = [answer.text for answer in answers]
        right = [[answer.text for answer in question.answers] for question in examples]
        if not self.settings.unanswerable:
            return squad_scores.scores_v1(texts, right)
        odds, threshold = [answer.null_odds for answer in answers], self.settings.null_score_diff_threshold
        scores = squad_scores.scores_v2(texts, odds, right, threshold)
        return scores | {"null_score_diff_threshold": threshold}

    def span_answers(self, examples, predictions):
        """The `SpanAnswer` to each question."""
        return postprocess_predictions(examples, predictions, self.settings)

    def write_predictions(self, examples, predictions, folder):
        """predictions.json, nbest_predictions.json and null_odds.json; see `span_answers.write_answers`."""
        write_answers(folder, examples, self.span_answers(examples, predictions), self.settings)

    @property
    def not_in_answers(self):
        own = () if self.settings.unanswerable else ("null_score_diff_threshold",)
        return ("n_best_size", *own)

    @property
    def chooses(self):
        return ("null_score_diff_threshold",) if self.settings.unanswerable else ()

    def chosen(self, metrics):
        """`null_score_diff_threshold`: the one of the best F1."""
        return {name: metrics["chosen_threshold"] for name in self.chooses}


def _logits_and_positions(outputs, batch):
    """(logits without padding, right positions) of start and end."""
    for name, position in (("start_logits", START_POSITIONS), ("end_logits", END_POSITIONS)):
        yield mask_padding(outputs[name], batch), batch[position]
