"""`predict` and `rank`, the same for every model that answers texts."""

from typing import Any

from kbert.inference.answers import answered, require_answers, source_dataset, to_examples
from kbert.inference.texts import text_batch

# Answers that are one number for a pair of texts.
PAIR_NUMBERS = ("prediction", "cosine")


class TextAnswers:
    """What models with a `predictor(signature)` have in common.

    Attributes:
      source: where the model was loaded from.
      task: its `Task`.
    """

    source: str
    task: Any

    def predict(self, examples, top_k: int = 5, whole_words: bool = False):
        """Answers in words, as `run_prediction` gives them: a label, a number, entities, filled masks.

        Args:
          examples: a text; a tuple of the task's inputs, such as the two texts of a pair, or a question and
            its context; a dict of them; or a list of such examples. Or a table: a DataFrame, or a dict of
            columns, with the columns that the run was trained on or those of the task's inputs.
          top_k: how many answers to give if the task gives several, for example tokens for each [MASK].
          whole_words: for [MASK]: leave out tokens that continue a word.

        Returns:
          The answer, a dict as `Serving.answer` makes it; a list of answers for a list or a table.

        Raises:
          ValueError: when the task does not answer texts, for anything that is no example (the message names
            its place), or when an answer is not finite.
        """
        require_answers(self)
        serving = self.task.serving
        inputs = (serving.inputs, *serving.other_inputs.values())
        asked = to_examples(examples, inputs, source_dataset(self))
        settings = {"top_k": top_k, "whole_words": whole_words}
        names = {"name": asked.name, "first": asked.first}
        answers = [answer for _, answer in answered(self, asked.listed, settings, **names)]
        return answers[0] if asked.is_alone else answers

    def rank(self, query: str, texts, top_k: int | None = None) -> list[dict]:
        """Orders texts by how well they fit a query, the best first.

        It takes a model that gives a pair of texts one number: a cross-encoder, which is a run or checkpoint
        of `sequence_regression` on pairs, or a model of similar sentences.

        Args:
          query: what the texts are to fit.
          texts: a list of them.
          top_k: how many to give; by default all.

        Returns:
          dicts with `index` (the position in `texts`), `score` and `text`.

        Raises:
          ValueError: when the model gives pairs no number, or for anything that is no text.
        """
        if self.task.serving is None or not set(PAIR_NUMBERS) & set(self.task.serving.answers):
            raise ValueError(
                f"{self.source} has the task {self.task.name}; rank takes one that gives a pair of texts a "
                f"number, {' or '.join(PAIR_NUMBERS)}."
            )
        texts = text_batch(texts).texts
        answers = self.predict([(query, text) for text in texts])
        scores = [answer[name] for answer in answers for name in PAIR_NUMBERS if name in answer]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        return [{"index": i, "score": scores[i], "text": texts[i]} for i in order[:top_k]]
