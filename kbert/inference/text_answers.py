"""`predict` and `rank`, the same for every model that answers texts."""

from typing import Any

import numpy as np
from absl import logging

from kbert.checks import with_checked_values
from kbert.config import DatasetConfig
from kbert.inference.answers import (
    answered,
    require_answering_task,
    require_inputs,
    require_top_k,
    to_examples,
)
from kbert.inference.texts import text_batch
from kbert.inference.unknown_tokens import UnknownTokens
from kbert.input_pipelines.data_in_memory import shown, text_alone
from kbert.tasks.file_columns import PAIR, RAW_SCORES
from kbert.tasks.similarity.vectors import require_vectors, similarities

_LOOKED_AT = 15  # examples of a model: few enough for `unknown_shares` to trace no graph


class TextAnswers:
    """What models with a `predictor(signature)` have in common.

    Attributes:
      source: where the model was loaded from.
      task: its `Task`.
      text_inputs: the `TextInputs` that tokenize for it.
      dataset: the `DatasetConfig` of its run, which names columns of tables; None of others.
      embed: method from texts, and `task` ("query" or "document"), to vectors, for tasks that give them.
      unit: function that brings vectors to length 1; None takes that of the layers.
    """

    source: str
    task: Any
    text_inputs: Any
    dataset: DatasetConfig | None = None
    embed: Any
    unit: Any = None
    _told_of_cut_text = False
    _num_looked_at = 0

    @with_checked_values
    def predict(
        self,
        examples,
        top_k: int | None = None,
        whole_words: bool | None = None,
        raw_scores: bool | None = None,
    ):
        """Answers in words, as `run_prediction` gives them: a label, a number, entities, filled masks.

        Args:
          examples: a text; a tuple of the task's inputs, such as the two texts of a pair, or a question and
            its context; a dict of them; or a list of such examples. Or a table: a DataFrame, or a dict of
            columns, with the columns that the run was trained on or those of the task's inputs.
          top_k: for [MASK]: how many tokens to give for each; by default 5.
          whole_words: for [MASK]: leave out tokens that continue a word; by default they are given.
          raw_scores: for labels and numbers: give the model's own numbers, before the activation (of labels
            `logits` in the place of `probabilities`).

        Returns:
          The answer, a dict as `Serving.answer` makes it; a list of answers for a list or a table.

        Raises:
          ValueError: when the task does not answer texts, for anything that is no example (the message names
            its place), for `top_k` below 1 or with another task, or when an answer is not finite.
        """
        require_answering_task(self)
        require_top_k(1 if top_k is None else top_k)
        settings = {"top_k": top_k, "whole_words": whole_words, RAW_SCORES: raw_scores}
        settings = {name: value for name, value in settings.items() if value}  # False: what all tasks do
        serving = self.task.serving
        parsed = to_examples(examples, [*serving.by_signature.values()], self.dataset)
        require_inputs(self, parsed.listed, parsed.name, parsed.first)
        pairs = answered(self, parsed.listed, settings, name=parsed.name, first=parsed.first)
        answers = [answer for _, answer in pairs]
        self.warn_of_unknown_tokens(parsed.listed)
        return answers[0] if parsed.is_alone else answers

    @with_checked_values
    def rank(self, query: str, texts, top_k: int | None = None, raw_scores: bool | None = None) -> list[dict]:
        """Orders texts by how well they fit a query, the best first.

        It takes a model that gives a pair of texts one number, a cross-encoder (a run or checkpoint of
        `sequence_regression` on pairs), or one that gives vectors of texts. A cross-encoder's texts are
        ordered by its number before the activation: a sigmoid makes large ones equal. Vectors are compared
        by the similarity that the model names, or else by their cosine. For many queries on the same texts,
        embed these once (docs/similarity.md, Semantic search).

        Args:
          query: what the texts are to fit.
          texts: a list of them.
          top_k: how many to give; by default all.
          raw_scores: give a cross-encoder's own numbers, before its activation; similarities have none.

        Returns:
          dicts with `index` (the position in `texts`), `score` and `text`.

        Raises:
          ValueError: when the model gives neither, for anything that is no text, and for `top_k` below 1.
        """
        require_top_k(1 if top_k is None else top_k)
        query = text_alone(query)
        if not isinstance(query, str):
            raise ValueError(f"query is {shown(query)}; expected one text (str).")
        texts, serving = text_batch(texts).texts, self.task.serving
        gives_vectors = self.task.text_vectors is not None or (serving is None and self.embed is not None)
        if gives_vectors or getattr(serving, "one_text_output", None) == "embedding":
            numbers = scores = self._compare(query, texts)
        elif (
            serving is not None and PAIR in serving.by_signature.values() and "prediction" in serving.answers
        ):
            answers = self.predict(
                [(query, text) for text in texts], raw_scores=RAW_SCORES in serving.settings or None
            )
            numbers = [answer["prediction"] for answer in answers]
            scores = numbers if raw_scores else list(map(serving.activated, numbers))
        else:
            raise ValueError(
                f"{self.source} has the task {self.task.name}; rank takes one that gives a pair of texts a "
                "number, or a model of vectors of texts."
            )
        order = sorted(range(len(scores)), key=lambda index: -numbers[index])
        return [{"index": i, "score": scores[i], "text": texts[i]} for i in order[:top_k]]

    def similarity(self, queries, texts) -> np.ndarray:
        """How similar vectors of `embed` are, by the similarity that the model names, or else the cosine.

        Args:
          queries, texts: what `embed` gives for lists of texts.

        Returns:
          float32 array of shape (queries, texts); more is more similar.

        Raises:
          ValueError: for vectors of several widths, quantized ones, those with NaN or infinity, sparse ones
            where the model's are not, and what is no vectors.
        """
        text_vectors, pooling = self.task.text_vectors, self.task.pooling
        require_vectors(queries, texts, may_be_sparse=hasattr(text_vectors, "decode"))
        if text_vectors is not None:
            scores = text_vectors.similarity(queries, texts)
        else:
            name = "cosine" if pooling is None else pooling.similarity_fn_name
            scores = similarities(queries, texts, name, self.unit)
        if not np.isfinite(scores).all():
            raise ValueError(
                "queries or texts hold NaN or infinity, or numbers too large to be compared; expected "
                "vectors, as embed gives them."
            )
        return scores

    def warn_of_cut_text(self, cut, positions, name: str = "the text {!r:.60}", longest: str | None = None):
        """Warns of the first text that was cut, once for a model.

        Args:
          cut: bool (texts,).
          positions, name: those of `require_finite_answers`; or the texts themselves, which name them.
          longest: where texts are cut; by default as predictions are, see `Serving.longest`.
        """
        if self._told_of_cut_text or not np.any(cut):
            return
        self._told_of_cut_text, first = True, int(np.argmax(cut))
        logging.warning(
            "%s is longer than the %s that %s reads: what does not fit was left out, here and in all longer "
            "texts.", name.format(positions[first] if positions else first),
            longest or self.task.serving.longest(self.text_inputs.max_seq_length), self.source,
        )  # fmt: skip

    def warn_of_unknown_tokens(self, examples):
        """Warns, once for a model, where its first examples are mostly tokens that it does not know. Later
        ones are not looked at: that takes a part of the time of an answer to a short text.

        Args:
          examples: texts, or dicts of them.
        """
        listed = examples[: max(_LOOKED_AT - self._num_looked_at, 0)]
        if listed:
            unknown = UnknownTokens(self.text_inputs)
            listed = [{"text": entry} if isinstance(entry, str) else entry for entry in listed]
            unknown.count(listed)
            self._num_looked_at = _LOOKED_AT if unknown.warn() else self._num_looked_at + len(listed)

    def answer_rows(self, outputs, examples, positions, name: str, raw_scores: bool = False) -> list[dict]:
        """The answers of `Serving.answer`, or of its `raw_answer`, to a batch.

        Args:
          outputs: name -> array with a row for each example.
          examples: the inputs of each.
          positions, name: those of `require_finite_answers`.
          raw_scores: whether they are those of `raw_answer`.

        Raises:
          ValueError: naming the example, as `Serving.answer` does.
        """
        answer = self.task.serving.raw_answer if raw_scores else self.task.serving.answer
        answers = []
        for row, example in enumerate(examples):
            try:
                answers.append(answer({key: values[row] for key, values in outputs.items()}, example))
            except ValueError as error:
                where = name.format(positions[row] if positions else row)
                raise ValueError(f"{where}: {error}") from None
        return answers

    def _compare(self, query, texts) -> list[float]:
        """How similar the vector of each text is to that of the query."""
        if not texts:
            return []
        first, vectors = self.embed([query], task="query"), self.embed(texts, task="document")
        return self.similarity(first, vectors)[0].tolist()
