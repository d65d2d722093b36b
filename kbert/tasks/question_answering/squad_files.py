"""Questions on texts -> examples, in a stream: SQuAD's JSON, flat rows of `datasets`. Without TensorFlow.

Forms of a file, v1.1 and v2.0 alike; `is_impossible` is v2.0's, and other keys are passed over:
  {"data": [{"paragraphs": [{"context": "...", "qas": [{"id": "...", "question": "...",
    "answers": [{"text": "...", "answer_start": 0}], "is_impossible": false}]}]}]}
  {"id": "...", "question": "...", "context": "...", "answers": {"text": ["..."], "answer_start": [0]}}
The second is a row: a line of JSON, an entry of a list, which may stand under "data", or a row of a table.
Answers may have either shape in both. A paragraph may be a line of JSON or an entry of a list, too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kbert.files.file_format import FORMATS, format_by_name
from kbert.input_pipelines.data_files import reading_dataset
from kbert.input_pipelines.empty_texts import EmptyTextCounter
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import json_type, text_problem
from kbert.input_pipelines.label_names import seen_text
from kbert.input_pipelines.tables import table_rows
from kbert.input_pipelines.tables.table_paths import find_table, names_table
from kbert.input_pipelines.text_offsets import offset_advice
from kbert.tasks.files import Files
from kbert.tasks.question_answering.squad_json import opened, paragraphs_and_rows

_COLUMNS = ("id", "question", "context", "answers", "is_impossible")  # of a row


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


class _Item(NamedTuple):
    """What a file says about a question: an object, its context (None where that holds it), and where."""

    question: Any
    context: str | None
    where: str


class SquadFiles(Files):
    """Files of questions; of a `DatasetConfig` only `file_format` has a say in them."""

    settings = ("file_format",)

    def needless_settings(self, path, dataset):
        """A format whose cells are texts alone, which no file of questions has."""
        file_format = reading_dataset(path, dataset).file_format
        return {} if _has_values(file_format) else {"file_format": "as jsonl or a table"}

    def read_examples(self, path, dataset, with_labels=True):
        """`Question`s; see `read_questions`."""
        return read_questions(path, with_labels, reading_dataset(path, dataset).file_format)

    def texts(self, example):
        return example.question, example.context

    def content(self, example):
        """All but its id, and where answers begin."""
        answers = tuple(answer.text for answer in example.answers or ())
        return example.question, example.context, answers

    def groups(self, examples):
        """The paragraphs: all questions on one stay together."""
        return [example.context for example in examples]


def read_questions(
    path: str | Path, with_answers: bool = True, file_format: str | None = None
) -> Iterator[Question]:
    """Yields the questions of a file; one paragraph is held at a time, and the ids seen so far.

    Args:
      path: the file: JSON or lines of JSON, plain or compressed (`.gz`, `.bz2`, `.xz`, `.zst`); or a table,
        see `find_table`.
      with_answers: whether to read the answers.
      file_format: that of a table with another ending.

    Raises:
      ValueError: naming the file and the questions or paragraphs, for a file that is missing or has neither
        form, missing fields, an id that stands there twice, and an answer that does not stand in the context
        where it says.
    """
    path, ids, empty = Path(path), set(), EmptyTextCounter()
    problems = FileProblems(path)
    for item in _items(path, file_format, problems):
        try:
            question = _question(item, path, with_answers)
            _require_new(question.id, ids, path)
            if with_answers:
                texts = {"question": question.question, "context": question.context}
                empty.check(texts, f"{path}: question {question.id!r}")
        except ValueError as error:
            problems.add(error)
        else:
            if not problems:
                yield question
        if problems.is_full:
            break
    problems.raise_all()
    empty.say()
    if not ids:
        raise ValueError(
            f'{path} holds no questions; expected SQuAD\'s form, {{"data": [{{"paragraphs": ...}}]}}, or '
            f"rows with {', '.join(_COLUMNS[:4])}."
        )


def _require_new(name, ids, path):
    if name in ids:
        raise ValueError(f"{path}: the question id {name!r} appears twice; give each its own id.")
    ids.add(name)


def _items(path, file_format, problems) -> Iterator[_Item]:
    """All that a file says about questions; what is wrong with a paragraph is kept in `problems`."""
    if path.is_file() or names_table(path) or "*" in str(path):
        if table := find_table(path, file_format):
            for file in table.files:
                header = table_rows.column_names(file, table.file_format)
                columns = [name for name in _COLUMNS if name in header]
                for where, row in table_rows.read_rows(file, table.file_format, columns):
                    yield _Item(row, None, where)
            return
    if not _has_values(format_by_name(path)):
        raise ValueError(
            f"{path}: questions are read from JSON, lines of JSON and tables; cells of text hold no answers."
        )
    with opened(path) as stream:
        for where, value, is_row in paragraphs_and_rows(stream, path):
            if is_row and "qas" not in value:
                yield _Item(value, None, where)
                continue
            try:
                questions = _list_of_questions(value, where)
            except ValueError as error:
                problems.add(error)
                continue
            for number, question in enumerate(questions, start=1):
                name = f"{where}: question {number} of the paragraph"
                yield _Item(question, value["context"], name)


def _has_values(file_format):
    return file_format is None or FORMATS[file_format].has_values


def _list_of_questions(paragraph, where):
    _context(paragraph, where)
    if not isinstance(paragraph.get("qas"), list):
        raise ValueError(f"{where} has no list 'qas' of questions; it has {_names(paragraph)}.")
    return paragraph["qas"]


def _context(values, where):
    context = _text(values, "context", where)
    if not context.strip():
        raise ValueError(f"{where} has an empty context; leave it out.")
    return context


def _question(item, path, with_answers) -> Question:
    question, context, where = item
    if not isinstance(question, dict):
        raise ValueError(f"{where} is a JSON {json_type(question)}, expected an object.")
    if type(question.get("id")) is int:
        question["id"] = str(question["id"])
    name = _text(question, "id", where)
    by_id = f"{path}: question {name!r}"
    text = _text(question, "question", by_id)
    context = _context(question, by_id) if context is None else context
    return Question(name, text, context, _answers(question, context, by_id) if with_answers else None)


def _text(values, name, where):
    if why := text_problem(values, name):
        raise ValueError(f"{where} {why}.")
    return values[name]


def _names(values):
    return ", ".join(map(repr, list(values)[:8]))[:300] or "nothing"


def _answers(question, context, where):
    """All answers, each of which stands in the context."""
    answers = _listed(question, where)
    is_impossible = question.get("is_impossible")
    is_impossible = not answers if is_impossible is None else is_impossible
    if not isinstance(is_impossible, bool):
        raise ValueError(
            f"{where} has a JSON {json_type(is_impossible)} as 'is_impossible', not true or false."
        )
    if is_impossible != (not answers):
        raise ValueError(
            f"{where} has is_impossible={str(is_impossible).lower()} and {len(answers)} answers; a question "
            "that cannot be answered has none, and any other has one at least."
        )
    return tuple(_answer(text, start, context, where) for text, start in answers)


def _listed(question, where) -> list[tuple[Any, Any]]:
    """(text, start) of each answer, as the file has them; none where all are empty texts."""
    answers = question.get("answers")
    if isinstance(answers, dict):
        texts, starts = (answers.get(name) for name in ("text", "answer_start"))
        if isinstance(texts, str):
            texts, starts = [texts], [starts]
        if not (isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)):
            raise ValueError(
                f"{where} has an object of answers without lists 'text' and 'answer_start' of one length; it "
                f"has {_names(answers)}."
            )
        pairs = list(zip(texts, starts, strict=True))
    elif isinstance(answers, list):
        for answer in answers:
            if not isinstance(answer, dict):
                raise ValueError(f"{where} has a JSON {json_type(answer)} as an answer, expected an object.")
        pairs = [
            (_text(answer, "text", f"{where}: an answer"), answer.get("answer_start")) for answer in answers
        ]
    else:
        null = " (null is none)" if "answers" in question else ""
        raise ValueError(f"{where} has no list 'answers'{null}; it has {_names(question)}.")
    has_text = any(text != "" or start not in (None, -1, 0) for text, start in pairs)
    return pairs if has_text else []


def _answer(text, start, context, where):
    _text({"text": text}, "text", f"{where}: an answer")
    if type(start) is not int:
        received = "none" if start is None else f"the {json_type(start)} {str(start)[:80]}"
        raise ValueError(
            f"{where} has {received} as 'answer_start' of the answer {text[:80]!r}; expected a whole number."
        )
    if not seen_text(text):  # of which no tokenizer makes a piece
        raise ValueError(f"{where} has an empty answer; a question without an answer has an empty list.")
    end = start + len(text)
    advice = "" if context[max(start, 0) : end] == text else offset_advice(context, text, start, end)
    if not 0 <= start <= len(context) - len(text):
        raise ValueError(
            f"{where}: answer_start={start} with the answer {text[:80]!r} lies outside of the context, which "
            f"has {len(context)} characters.{advice}"
        )
    quote = context[start:end]
    if quote != text:
        raise ValueError(
            f"{where}: at answer_start={start} the context has {quote[:80]!r}, not the answer {text[:80]!r}; "
            f"answer_start counts characters (code points) from 0.{advice}"
        )
    return Answer(text, start)
