"""Files in SQuAD's form: what is read, and one sentence for whatever is wrong."""

import copy
import gzip
import json
import tracemalloc

import pyarrow as pa
import pytest
from pyarrow import parquet

from kbert.input_pipelines.repeated_rows import repetitions
from kbert.tasks.question_answering.squad_files import Answer, Question, SquadFiles, read_questions

CONTEXT = "Zoë 🙂 went to  Norwich, in 1998."


def content(**changes):
    """A file of one paragraph with three questions; `changes` replace fields of the first question."""
    first = {
        "id": "a",
        "question": "Where?",
        "answers": [{"text": "Norwich", "answer_start": 15}, {"text": "to  Norwich", "answer_start": 11}],
        "is_impossible": False,
    }
    questions = [
        first | changes,
        {"id": "b", "question": "Who?", "answers": [], "is_impossible": True, "plausible_answers": [3]},
        {"id": "c", "question": "When?", "answers": [{"text": "1998", "answer_start": 27}]},
    ]
    questions[0] = {name: value for name, value in questions[0].items() if value != "left out"}
    return {
        "version": "v2.0",
        "data": [{"title": "T", "paragraphs": [{"context": CONTEXT, "qas": questions}]}],
    }


def write(folder, values, name="squad.json"):
    path = folder / name
    path.write_bytes(values if isinstance(values, bytes) else json.dumps(values).encode())
    return path


def test_questions_with_other_answers_are_shown_by_their_texts():
    answered = Question("a", "Who?", CONTEXT, (Answer("Zoë", 0),))
    examples = [answered, answered._replace(id="b"), answered._replace(id="c", answers=())]
    repeated, contradicting = repetitions([*map(SquadFiles().content, examples)])
    assert repeated == "1 of 3 rows repeat an earlier one"
    assert "1 text(s) have several labels or answers, as 'Who?' has ['Zoë'] and []; if" in contradicting


def test_questions_come_in_order_with_all_their_answers(tmp_path):
    questions = list(read_questions(write(tmp_path, content())))
    assert questions == [
        Question("a", "Where?", CONTEXT, (Answer("Norwich", 15), Answer("to  Norwich", 11))),
        Question("b", "Who?", CONTEXT, ()),
        Question("c", "When?", CONTEXT, (Answer("1998", 27),)),
    ]
    for question in questions:
        for answer in question.answers:
            assert question.context[answer.start :].startswith(answer.text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "left out"}, "paragraph 1 of article 1: question 1 of the paragraph has no field 'id', only"),
        ({"id": "c"}, "the question id 'c' appears twice; give each its own id"),
        ({"answers": "left out"}, "question 'a' has no list 'answers'; it has 'id', 'question'"),
        ({"answers": []}, "question 'a' has is_impossible=false and 0 answers"),
        ({"is_impossible": "no"}, "question 'a' has a JSON string as 'is_impossible', not true or false"),
        ({"answers": ["Norwich"]}, "question 'a' has a JSON string as an answer, expected an object"),
        (
            {"answers": [{"text": "went", "answer_start": "7"}]},
            "question 'a' has the string 7 as 'answer_start' of the answer 'went'; expected a whole number",
        ),
        ({"answers": [{"text": " ", "answer_start": 3}]}, "question 'a' has an empty answer"),
        ({"answers": [{"text": "\u200b\ufeff", "answer_start": 3}]}, "question 'a' has an empty answer"),
        (
            {"answers": [{"text": "Zoë", "answer_start": -1}]},
            "answer_start=-1 with the answer 'Zoë' lies outside",
        ),
        (
            {"answers": [{"text": "went", "answer_start": 7}]},
            "at answer_start=7 the context has 'ent ', not the a",
        ),
    ],
)
def test_a_broken_question_is_named(tmp_path, changes, message):
    path = write(tmp_path, content(**changes))
    with pytest.raises(ValueError, match=message) as raised:
        list(read_questions(path))
    assert str(path) in str(raised.value)


def test_a_name_that_an_object_has_twice_is_refused(tmp_path):
    text = json.dumps(content()).replace('"context": ', '"context": "x", "context": ', 1)
    (tmp_path / "twice.json").write_text(text)
    with pytest.raises(ValueError, match="twice.json: the name context appears twice in one object"):
        list(read_questions(tmp_path / "twice.json"))


ANSWERS = {"text": ["Ann"], "answer_start": [0]}
ROWS = [{"id": "1", "question": "Who?", "context": "Ann saw.", "answers": ANSWERS}]


def changed(change):
    values = copy.deepcopy(content())
    change(values, values["data"][0]["paragraphs"][0])
    return values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (b"", r"is not whole JSON \(parse error: premature EOF"),
        (b'{"data": [tru]}', r"is not whole JSON \(lexical error: invalid string in json text, near '.*tru"),
        (json.dumps(content()).encode() + b"{}", "holds more than one JSON value; expected .* MRQA's header"),
        (b'{"data": [{"paragraphs": [{"context": "\xff"}]}]}', "is not whole JSON .*invalid bytes in UTF8"),
        (b"{}", "holds no questions; expected SQuAD's form"),
        ({"data": [[]]}, "is not in SQuAD's form: data should be .or hold. an object"),
        ({"data": [{"paragraphs": {}}]}, "is not in SQuAD's form: data.item.paragraphs should be a list"),
        ({"data": [{"paragraphs": ["text"]}]}, "article 1 has a paragraph that is no object"),
        (changed(lambda v, p: p.pop("context")), "paragraph 1 of article 1 has no field 'context'"),
        (changed(lambda v, p: p.update(context=" \n")), "paragraph 1 of article 1 has an empty context"),
        (
            changed(lambda v, p: p.pop("qas")),
            "paragraph 1 of article 1 has no list 'qas' of questions; it has 'con",
        ),
        (
            changed(lambda v, p: p.update(qas=["Who?"])),
            "question 1 of the paragraph is a JSON string, expected",
        ),
        (
            changed(lambda v, p: v["data"].append({"paragraphs": [{}]})),
            "paragraph 1 of article 2 has no field",
        ),
        (
            changed(lambda v, p: v["data"].append({"title": "b", "Paragraphs": [p]})),
            "object 2 has no question, context or paragraphs, only title, Paragraphs",
        ),
        ([*ROWS, {"id": "2", "Question": "x"}], "object 2 has no .* only id, Question;"),
        (b"%s\n%s" % (json.dumps(ROWS[0]).encode(), b'{"query": "x"}'), "object 2 has no .* only query"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, values, message):
    path = write(tmp_path, values)
    with pytest.raises(ValueError, match=message) as raised:
        list(read_questions(path))
    assert str(path) in str(raised.value) and len(str(raised.value)) < 500


def test_a_large_file_is_read_in_little_memory(tmp_path):
    """The paragraphs of one article: nothing of a file is held but the paragraph and the ids."""
    path = tmp_path / "large.json"
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"data": [{"paragraphs": [')
        for number in range(500):
            question = {"id": str(number), "question": "What?", "answers": [{"text": "x", "answer_start": 9}]}
            context = "y" * 9 + "x" * 10_000
            file.write("," * (number > 0) + json.dumps({"context": context, "qas": [question]}))
        file.write("]}]}")
    assert path.stat().st_size > 5_000_000
    tracemalloc.start()
    assert sum(1 for _ in read_questions(path)) == 500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


ROW = {"id": "a", "title": "T", "context": "Ulm is a city.", "question": "Where?"}
LISTS = {"text": ["Ulm", "a city"], "answer_start": [0, 7]}
ANSWERS = (Answer("Ulm", 0), Answer("a city", 7))
ROWS = [
    ROW | {"answers": LISTS},
    ROW | {"id": 2, "answers": [{"text": "Ulm", "answer_start": 0}]},
    ROW | {"id": "c", "answers": {"text": [], "answer_start": []}},
]


def questions(path, **arguments):
    return [(question.id, question.answers) for question in read_questions(path, **arguments)]


@pytest.mark.parametrize(("answers", "expected"), [
    (LISTS, ANSWERS),
    ({"text": "Ulm", "answer_start": 0}, ANSWERS[:1]),
    ({"text": [], "answer_start": []}, ()),
    ({"text": [""], "answer_start": [-1]}, ()),
    ([{"text": "", "answer_start": 0}], ()),
    ([{"text": "", "answer_start": None}], ()),
])  # fmt: skip
def test_answers_have_several_shapes(tmp_path, answers, expected):
    question = {"id": "a", "question": "Where?", "answers": answers}
    paragraph = {"context": ROW["context"], "qas": [question]}
    nested = {"data": [{"title": "T", "paragraphs": [paragraph]}]}
    assert questions(write(tmp_path, nested)) == [("a", expected)]
    assert questions(write(tmp_path, json.dumps(ROW | {"answers": answers}).encode())) == [("a", expected)]


@pytest.mark.parametrize(
    "kind",
    [
        *("rows.jsonl", "rows.jsonl.gz", "rows.json", "list", "data", "rows.parquet", "rows.arrow"),
        *("paragraphs", "paragraphs.jsonl"),
    ],
)
def test_rows_are_read_from_every_source(tmp_path, kind):
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    if kind in ("list", "data"):
        path = write(tmp_path, ROWS if kind == "list" else {"version": 1, "data": ROWS})
    elif kind.startswith("paragraphs"):
        paragraphs = [{"context": row["context"], "qas": [row]} for row in ROWS]
        lines = "".join(json.dumps(paragraph) + "\n" for paragraph in paragraphs).encode()
        path = write(tmp_path, lines if kind.endswith("jsonl") else paragraphs)
    elif "json" in kind:
        path = write(tmp_path, gzip.compress(lines) if kind.endswith("gz") else lines, kind)
    else:
        rows = [row | {"id": str(row["id"]), "answers": LISTS | {
            "text": [text for text, _ in answers], "answer_start": [start for _, start in answers]}}
            for row, answers in zip(ROWS, (ANSWERS, ANSWERS[:1], ()), strict=True)]  # fmt: skip
        table = pa.Table.from_pylist(rows)
        path = tmp_path / kind
        if kind == "rows.parquet":
            parquet.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
    assert questions(path) == [("a", ANSWERS), ("2", ANSWERS[:1]), ("c", ())]
    assert questions(path, with_answers=False) == [("a", None), ("2", None), ("c", None)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"answers": {"text": ["Ulm"], "answer_start": []}},
            "'text' and 'answer_start' of one length; it has 'te",
        ),
        ({"answers": {"start": [0]}}, "'text' and 'answer_start' of one length; it has 'start'"),
        ({"answers": {"text": ["Ulm", ""], "answer_start": [0, 1]}}, "question 'a' has an empty answer"),
        ({"answers": {"text": ["city"], "answer_start": [-1]}}, "lies outside .* It stands at 9 to 13."),
        ({"answers": {"text": ["U"], "answer_start": [-1]}}, r"characters\. It stands at 0 to 1\."),
        ({"context": None}, "has a JSON null as 'context', not a string"),
        ({"context": "", "answers": []}, "question 'a' has an empty context"),
        ({"answers": [], "is_impossible": False}, "question 'a' has is_impossible=false and 0 answers"),
    ],
)
def test_a_broken_row_is_named(tmp_path, row, message):
    path = write(tmp_path, json.dumps(ROW | row).encode(), "rows.jsonl")
    with pytest.raises(ValueError, match=message) as raised:
        list(read_questions(path))
    assert str(path) in str(raised.value)


def test_all_broken_questions_are_in_one_message(tmp_path):
    rows = [ROW | {"id": name, "answers": {"text": ["Ulm"], "answer_start": [1]}} for name in "abc"]
    with pytest.raises(ValueError) as raised:
        list(read_questions(write(tmp_path, rows)))
    assert all(f"question {name!r}: at answer_start=1" in str(raised.value) for name in "abc")
