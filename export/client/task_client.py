"""Typed questions: what a person wants to know, found among the signatures by what they take and give."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .serving_client import ServingClient


@dataclasses.dataclass(frozen=True)
class Classified:
    """The label of a text, or its labels where it may have several, with the probability of each class."""

    labels: tuple[str, ...]
    probabilities: np.ndarray


@dataclasses.dataclass(frozen=True)
class TaggedWord:
    """A word of a text, its place in characters, and its label with the probability."""

    word: str
    start: int
    end: int
    label: str
    probability: float


@dataclasses.dataclass(frozen=True)
class Answered:
    """The answer to a question, its place in characters of the context, and its score; "" for no answer."""

    answer: str
    start: int
    end: int
    score: float


@dataclasses.dataclass(frozen=True)
class FilledMask:
    """The tokens that fit one [MASK] best, most probable first."""

    tokens: tuple[str, ...]
    probabilities: np.ndarray


class TaskClient(ServingClient):
    """A `ServingClient` with a method for each kind of question.

    A method looks for a signature that takes what it is given and gives what it returns; it asks for no
    task by name. A model without such a signature is refused with a list of those that it has.

    Example:
        with TaskClient("localhost:8500", "squad") as client:
            for found in client.answer_questions([("Who?", "It was she.")]):
                print(found.answer)
    """

    def classify(self, texts: Iterable[str], pairs: Iterable[str] | None = None) -> Iterator[Classified]:
        """Gives each text, or each text with its pair, a label."""
        examples = _with_pairs(texts, pairs)
        for outputs in self.answer(examples, outputs=["probabilities"]):
            found = outputs.get("labels", outputs.get("label"))
            labels = [] if found is None else np.atleast_1d(found).tolist()
            yield Classified(tuple(_text(label) for label in labels if label), outputs["probabilities"])

    def tag(self, texts: Iterable[str]) -> Iterator[list[TaggedWord]]:
        """Gives each word of each text a label."""
        names = ["words", "starts", "ends", "labels", "probabilities"]
        for outputs in self.answer(_of("text", texts), outputs=names):
            columns = zip(*(outputs[name].tolist() for name in names), strict=True)
            yield [
                TaggedWord(_text(word), start, end, _text(label), probability)
                for word, start, end, label, probability in columns
                if word  # rows are filled up with "" to the longest text
            ]

    def answer_questions(self, questions: Iterable[tuple[str, str]]) -> Iterator[Answered]:
        """Answers pairs of question and context."""
        examples = ({"question": question, "context": context} for question, context in questions)
        for outputs in self.answer(examples, outputs=["answer", "start", "end", "score"]):
            place = int(outputs["start"]), int(outputs["end"])
            yield Answered(_text(outputs["answer"]), *place, float(outputs["score"]))

    def fill_masks(
        self, texts: Iterable[str], top_k: int = 5, whole_words: bool = False
    ) -> Iterator[list[FilledMask]]:
        """Finds the best tokens for each [MASK] of each text."""
        settings = {"top_k": top_k, "whole_words": whole_words}
        names = ["tokens", "probabilities", "num_masks"]
        for outputs in self.answer(_of("text", texts), settings, outputs=names):
            yield [
                FilledMask(
                    tuple(map(_text, outputs["tokens"][mask].tolist())), outputs["probabilities"][mask]
                )
                for mask in range(int(outputs["num_masks"]))
            ]

    def choose(self, examples: Iterable[tuple[str, Sequence[str]]]) -> Iterator[int]:
        """Gives the index of the best choice for each pair of text and choices."""
        rows = ({"text": text, "choices": list(choices)} for text, choices in examples)
        for outputs in self.answer(rows, outputs=["choice"]):
            yield int(outputs["choice"])

    def embed(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Gives each text a vector, float32 [hidden_size]."""
        for outputs in self.answer(_of("text", texts), outputs=["embedding"]):
            yield outputs["embedding"]

    def number(
        self, texts: Iterable[str], pairs: Iterable[str] | None = None, output: str = "prediction"
    ) -> Iterator[float]:
        """Gives each text, or each text with its pair, a number: `prediction` of a regression, `cosine` of
        texts compared, `probability` of a next sentence."""
        for outputs in self.answer(_with_pairs(texts, pairs), outputs=[output]):
            yield float(outputs[output])


def _of(name: str, texts: Iterable[str]) -> Iterator[dict]:
    if isinstance(texts, str):
        raise ValueError(f"received one text, {texts[:40]!r}; expected a list of texts.")
    return ({name: text} for text in texts)


def _with_pairs(texts: Iterable[str], pairs: Iterable[str] | None) -> Iterator[dict]:
    examples = _of("text", texts)
    if pairs is None:
        return examples
    return (one | other for one, other in zip(examples, _of("text_pair", pairs), strict=True))


def _text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
