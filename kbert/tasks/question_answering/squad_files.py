"""Files in SQuAD's JSON format -> questions, in a stream. Without TensorFlow.

Form of a file, v1.1 and v2.0 alike; `is_impossible` is v2.0's, and other keys are passed over:
  {"data": [{"paragraphs": [{"context": "...", "qas": [{"id": "...", "question": "...",
    "answers": [{"text": "...", "answer_start": 0}], "is_impossible": false}]}]}]}
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ijson

from kbert.files.compression import find_opener, naming_damage, require_read_kind
from kbert.input_pipelines.json_rows import json_type, why_no_text
from kbert.input_pipelines.labelled_files import EmptyTexts
from kbert.tasks.files import Files

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PARAGRAPH = "data.item.paragraphs.item"
# What a value must be above a paragraph, by ijson's prefixes and events.
_FORM = {
    "": "start_map",
    "data": "start_array",
    "data.item": "start_map",
    "data.item.paragraphs": "start_array",
}
_SHOWN_FORM = '{"data": [{"paragraphs": [...]}]}'
_SHOULD_BE = {
    "start_map": f"should be (or hold) an object, as in {_SHOWN_FORM}.",
    "start_array": f"should be a list, as in {_SHOWN_FORM}.",
}


class Answer(NamedTuple):
    """A right answer, and where it begins in the context, in characters (code points)."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a context.

    `answers` are all right ones, none where the context holds no answer; None where nobody says it.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...] | None


class SquadFiles(Files):
    """JSON files in SQuAD's form; a `DatasetConfig` has no say in them."""

    def read_examples(self, path, dataset, with_labels=True):
        """`Question`s; see `read_questions`."""
        return read_questions(path, with_labels)

    def groups(self, examples):
        """The paragraphs: all questions on one stay together."""
        return [example.context for example in examples]


def read_questions(path: str | Path, with_answers: bool = True) -> Iterator[Question]:
    """Yields the questions of a file; one paragraph is held at a time, and the ids seen so far.

    Args:
      path: the file, plain or compressed (`.gz`, `.bz2`, `.xz`, `.zst`).
      with_answers: whether to read the answers.

    Raises:
      ValueError: naming the file and the question or paragraph, for a file that is missing or no JSON in
        SQuAD's form, missing fields, an id that stands there twice, and an answer that does not stand in the
        context where it says.
    """
    path, ids, empty = Path(path), set(), EmptyTexts()
    with _opened(path) as stream:
        for where, paragraph in _paragraphs(stream, path):
            for question in _questions(paragraph, where, path, with_answers):
                if question.id in ids:
                    raise ValueError(
                        f"{path}: the question id {question.id!r} appears twice; give each its own id."
                    )
                ids.add(question.id)
                if with_answers:
                    texts = {"question": question.question, "context": question.context}
                    empty.check(texts, f"{path}: question {question.id!r}")
                yield question
    empty.say()
    if not ids:
        raise ValueError(
            f'{path} holds no questions; expected SQuAD\'s form, {{"data": [{{"paragraphs": ...}}]}}.'
        )


@contextlib.contextmanager
def _opened(path):
    """The bytes of a file, unpacked, without a byte order mark; its errors as one sentence."""
    if not path.is_file():
        raise ValueError(f"file of questions {path} does not exist.")
    require_read_kind(path, "JSON in SQuAD's form")
    try:
        with naming_damage(path, "get it again"), find_opener(path)(path, "rb") as stream:
            if stream.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
                stream.seek(0)
            yield stream
    except ijson.JSONError as error:
        raise ValueError(
            f"{path} is not whole JSON ({_sentence(error)}); expected a file in SQuAD's form."
        ) from None


def _sentence(error):
    """The parser's words, which come with a picture of the place, on one line."""
    text = error.args[0] if error.args else ""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    what, near = lines[0].rstrip("."), lines[1][:80] if len(lines) > 1 else ""
    return f"{what}, near {near!r}" if near else what


def _paragraphs(stream, path):
    """Yields (where it is, paragraph)."""
    builder, article, number = None, 0, 0
    for prefix, event, value in ijson.parse(stream, use_float=True):
        if builder is not None:
            builder.event(event, value)
            if prefix == _PARAGRAPH and event == "end_map":
                yield f"{path}, paragraph {number} of article {article}", builder.value
                builder = None
        elif prefix == _PARAGRAPH and event not in ("end_array", "end_map"):
            if event != "start_map":
                raise ValueError(f"{path}: article {article} has a paragraph that is no object.")
            builder, number = ijson.ObjectBuilder(), number + 1
            builder.event(event, value)
        elif prefix in _FORM and event not in ("map_key", "end_map", "end_array"):
            if event != _FORM[prefix]:
                raise ValueError(
                    f"{path} is not in SQuAD's form: {prefix.removesuffix('.item') or 'the file'} "
                    f"{_SHOULD_BE[_FORM[prefix]]}"
                )
            if prefix == "data.item":
                article, number = article + 1, 0


def _questions(paragraph, where, path, with_answers):
    context = _text(paragraph, "context", where)
    if not context.strip():
        raise ValueError(f"{where} has an empty context; leave the paragraph out.")
    if not isinstance(paragraph.get("qas"), list):
        raise ValueError(f"{where} has no list 'qas' of questions; it has {_names(paragraph)}.")
    for number, question in enumerate(paragraph["qas"], start=1):
        by_number = f"{where}: question {number} of the paragraph"
        if not isinstance(question, dict):
            raise ValueError(f"{by_number} is a JSON {json_type(question)}, expected an object.")
        name = _text(question, "id", by_number)
        by_id = f"{path}: question {name!r}"
        text = _text(question, "question", by_id)
        answers = _answers(question, context, by_id) if with_answers else None
        yield Question(name, text, context, answers)


def _text(values, name, where):
    if why := why_no_text(values, name):
        raise ValueError(f"{where} {why}.")
    return values[name]


def _names(values):
    return ", ".join(map(repr, list(values)[:8]))[:300] or "nothing"


def _answers(question, context, where):
    """All answers, each of which stands in the context."""
    answers = question.get("answers")
    if not isinstance(answers, list):
        raise ValueError(f"{where} has no list 'answers'; it has {_names(question)}.")
    is_impossible = question.get("is_impossible", not answers)
    if not isinstance(is_impossible, bool):
        raise ValueError(
            f"{where} has a JSON {json_type(is_impossible)} as 'is_impossible', not true or false."
        )
    if is_impossible != (not answers):
        raise ValueError(
            f"{where} has is_impossible={str(is_impossible).lower()} and {len(answers)} answers; a question "
            "that cannot be answered has none, and any other has one at least."
        )
    return tuple(_answer(answer, context, where) for answer in answers)


def _answer(answer, context, where):
    if not isinstance(answer, dict):
        raise ValueError(f"{where} has a JSON {json_type(answer)} as an answer, expected an object.")
    text, start = _text(answer, "text", f"{where}: an answer"), answer.get("answer_start")
    if type(start) is not int:
        raise ValueError(f"{where} has no whole number 'answer_start' with the answer {text[:80]!r}.")
    if not text.strip():
        raise ValueError(f"{where} has an empty answer; a question without an answer has an empty list.")
    if not 0 <= start <= len(context) - len(text):
        raise ValueError(
            f"{where}: answer_start={start} with the answer {text[:80]!r} lies outside of the context, which "
            f"has {len(context)} characters."
        )
    quote = context[start : start + len(text)]
    if quote != text:
        raise ValueError(
            f"{where}: at answer_start={start} the context has {quote[:80]!r}, not the answer {text[:80]!r}; "
            "answer_start counts characters (code points) from 0."
        )
    return Answer(text, start)
