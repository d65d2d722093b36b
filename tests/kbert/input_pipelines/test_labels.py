"""What a label means, from every source: what is one class, what is none, and what is a list."""

import dataclasses
import json
import math
import unicodedata

import pyarrow as pa
import pytest
from pyarrow import parquet

from kbert.config import DatasetConfig
from kbert.input_pipelines.data_files import data_as_files
from kbert.input_pipelines.label_checks import judge_classes, judge_labels, judge_several_labels
from kbert.input_pipelines.label_names import near_labels, sorted_labels
from kbert.input_pipelines.labels import NoLabel, class_label, label_set, number_label
from kbert.tasks.files import ONE_LABEL_FILES, SEVERAL_LABELS_FILES
from kbert.tasks.sequences.number_files import NumberFiles
from kbert.tasks.similarity.text_groups import PositiveFiles, ScoredPairFiles

CAFE = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
# Two ways to write one label -> what the message shows of the pair.
ALIKE = {
    "zero width": ("pos", "\u200bpos", "with U+200B) look alike"),
    "byte order mark": ("pos", "\ufeffpos", "with U+FEFF) look alike"),
    "soft hyphen": ("spam", "sp\u00adam", "with U+00AD) look alike"),
    "no-break space": ("not spam", "not\u00a0spam", "with U+00A0) look alike"),
    "two blanks": ("not spam", "not  spam", "with U+0020) look alike"),
    "normalization": (*CAFE, "with U+0065 U+0301) look alike"),
    "full width": ("A", "\uff21", "with U+FF21) look alike"),
    "Cyrillic": ("Cat", "\u0421at", "with U+0421) look alike"),
    "dash": ("b-c", "b\u2013c", "with U+2013) look alike"),
    "variation selector": ("\u2764", "\u2764\ufe0f", "with U+FE0F) look alike"),
    "blanks at an end": ("pos", "pos ", "differ only in blanks at their ends"),
    "a fraction": ("1", "1.0", "are the same number"),
    "a sign": ("1", "+1", "are the same number"),
    "other digits": ("1", "\u0661", "are the same number"),
    "another minus": ("-1", "\u22121", "with U+2212) look alike"),
    "an exponent": ("-1.000e+00", "-1", "are the same number"),
    "truth values": ("True", "true", "differ only in capitals"),
    "truth values and a blank": ("True ", "true", "differ only in capitals and in blanks or characters"),
    "a truth value and its number": ("TRUE", "1", "are the same truth value"),
}
APART = [
    ("C", "C+"),
    ("C", "C-"),
    ("a", "b"),
    ("1", "-1"),
    ("+", "-"),
    ("1", "1.5"),
    ("5", ".5"),
    ("ab", "a b"),
    ("1e2", "100"),
    ("ß", "ss"),
    ("\U0001f3f4\U000e0067\U000e0062\U000e0065", "\U0001f3f4\U000e0067\U000e0062\U000e0073"),  # flags
]


def texts(count):
    return [f"text {number}" for number in range(count)]


@pytest.fixture(params=["tsv", "csv", "jsonl", "parquet", "columns"])
def with_source(request, tmp_path):
    """A function from labels to a path of a file that has them, of each kind."""

    def write(labels):
        rows = {"text": texts(len(labels)), "label": labels}
        path = tmp_path / f"rows.{request.param}"
        if request.param == "parquet":
            parquet.write_table(pa.table(rows), path)
        elif request.param == "columns":
            with data_as_files({"the data": rows}) as (file,):
                path = tmp_path / "rows.jsonl"
                path.write_bytes(file.read_bytes())
        elif request.param == "jsonl":
            lines = (
                json.dumps(dict(zip(rows, row, strict=True))) for row in zip(*rows.values(), strict=True)
            )
            path.write_text("\n".join(lines), encoding="utf-8")
        else:
            mark = "\t" if request.param == "tsv" else ","
            lines = (mark.join(row) for row in zip(*rows.values(), strict=True))
            path.write_text("\n".join([mark.join(rows), *lines]), encoding="utf-8")
        return path

    return write


def completed(path, files=ONE_LABEL_FILES, **dataset):
    config = DatasetConfig(**dataset)
    return files.complete_dataset(config, list(files.read_examples(path, config))).labels


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("with_source", ["csv", "parquet"], indirect=True)
def test_labels_that_mean_the_same_are_refused_with_the_pair(with_source, pair):
    one, other, why = pair
    path = with_source([one, "x", other, one])
    with pytest.raises(ValueError) as error:
        completed(path)
    message = str(error.value)
    assert message.startswith(f"{path}: the labels ")
    assert f"{one!r} (2 times" in message and f"{other!r} (1 time" in message and why in message
    assert "dataset.labels" in message
    assert completed(path, labels=(one, other, "x")) == (one, other, "x"), "where both are meant"


@pytest.mark.parametrize("with_source", ["tsv", "csv", "jsonl"], indirect=True)
def test_fractions_are_no_classes(with_source):
    """Scores of texts are learned as numbers, also where a file has them as text."""
    path = with_source(["0", "2.5", "5.00", "2.5"])
    with pytest.raises(ValueError, match="all labels are numbers, one of them .2.5., which is a label"):
        completed(path)
    assert completed(path, labels=("0", "2.5", "5.00")) == ("0", "2.5", "5.00"), "where classes are meant"
    # As pandas writes classes; names beside numbers; codes of many digits.
    for classes in (["1.0", "2.0"], ["2.5", "x"], [f"1{'0' * 39}", f"2{'0' * 39}"]):
        assert completed(with_source(classes)) == tuple(classes)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Різне", "різне", "in capitals"),  # its first two letters have the shape of UTF-8 that was misread
        ("Вільний час", "Вільний-час", "in hyphens, underscores or blanks"),
        ("Різне", "Різне.", "in marks at their ends"),
        ("café", "cafÃ©", "in their encoding: UTF-8 was read as another one and saved"),
    ],
)
def test_labels_that_may_be_one_are_shown_with_the_reason(one, other, why):
    assert near_labels({one: 4, other: 3}).endswith(f" differ only {why}")


@pytest.mark.parametrize("pair", APART, ids=map("|".join, APART))
def test_labels_that_are_two_stay_two(pair, caplog):
    judge_labels(dict.fromkeys(pair, 1), "file")
    assert not caplog.text


@pytest.mark.parametrize(("label", "why"), [
    ("'1", "marks at their ends"), ("1;", "marks at their ends"), ("'1.0'", "are the same number"),
    ("01", "are the same number"), ("1,0", "are the same number"), ("1:", "marks at their ends"),
])  # fmt: skip
def test_a_number_with_marks_may_be_the_number(label, why, caplog):
    judge_labels({"1": 2, label: 1, "2": 2}, "file")
    assert f"the labels '1' (2 times) and {label!r} (1 time)" in caplog.text and why in caplog.text


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["+1", "-1"], ("-1", "+1")),
        (["1.0", "0.0"], ("0.0", "1.0")),
        (["10.0", "9.5", "-1."], ("-1.", "9.5", "10.0")),
        (["1", "\u22121"], ("\u22121", "1")),
        (["+1.000e+00", "-1.000e+00"], ("-1.000e+00", "+1.000e+00")),
        (["+1", "0", "-1"], ("-1", "0", "+1")),
        (["yes", "no"], ("no", "yes")),
        (["true", "false"], ("false", "true")),
        (["pos", "neg"], ("neg", "pos")),
    ],
)
def test_the_last_label_is_the_positive_one(labels, expected):
    assert sorted_labels(labels) == expected


def test_quotation_marks_of_a_file_are_no_part_of_a_label(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text('text\tlabel\na\t"x"\nb\t"y"\n')
    with pytest.raises(ValueError, match="rows.tsv: the label '\"x\"' stands in quot.*file_format=csv"):
        completed(path)
    assert completed(path, file_format="csv", delimiter="\t") == ("x", "y")
    path.write_text("text\tlabel\na\t'x'\nb\t'y'\n")
    with pytest.raises(
        ValueError, match="rows.tsv: the label \"'x'\" stands in quot.*Write the labels without"
    ):
        completed(path)


# ------------------------------------------------------------------------------ no label

NONE = ["#REF!", ".", "?", "NaN", "nan", "N/A", "NA", "None", "null", "n.a.", "", " ", "\u200b", "\u00a0"]
NONE += ["(null)", "[NULL]", "(blank)", "#N/A N/A", "-1.#IND", "-nan"]


@pytest.mark.parametrize("mark", NONE)
@pytest.mark.parametrize("files", [ONE_LABEL_FILES, NumberFiles()], ids=["class", "number"])
@pytest.mark.parametrize("with_source", ["csv", "parquet"], indirect=True)
def test_what_stands_for_no_label_is_refused_or_left_out(with_source, files, mark, caplog):
    path = with_source(["1", mark, "0", "1"])
    with pytest.raises(ValueError, match=r"(line|row) \d .*dataset\.skip_unlabelled=true"):
        list(files.read_examples(path, DatasetConfig()))
    examples = list(files.read_examples(path, DatasetConfig(skip_unlabelled=True)))
    assert [example.text for example in examples] == ["text 0", "text 2", "text 3"]
    assert "1 of 4 rows have no label and are left out; the first: " in caplog.text
    assert len(list(files.read_examples(path, DatasetConfig(), with_labels=False))) == 4
    if mark.strip() and files is ONE_LABEL_FILES:
        assert len(list(files.read_examples(path, DatasetConfig(labels=("0", "1", mark))))) == 4


@pytest.mark.parametrize(
    "label",
    ["b'pos'", 'b"pos"', "np.int64(1)", "tensor(1)", "array(1)", "tf.Tensor(1, shape=(), dtype=int32)"],
)
def test_a_value_that_python_printed_is_no_label(tmp_path, label):
    with pytest.raises(ValueError, match="is a value as Python prints it"):
        judge_labels({label: 2, "neg": 3}, tmp_path)
    judge_labels({f"a {label}": 2, "tensor(fasciae)": 3, "b'a' and 'b'": 1}, tmp_path)


@pytest.mark.parametrize("text", ["\u200b", "\u00ad\ufeff", "\0", "\u200b \u3164", " \u2060"])
def test_a_text_of_which_nothing_is_seen_is_no_text(tmp_path, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(json.dumps({"text": cell, "label": "x"}) + "\n" for cell in ("a", "!", "\u2764", text))
    )
    with pytest.raises(ValueError, match="line 4 has no text in column 'text'"):
        completed(path)


def test_texts_that_stand_for_no_text_and_printed_lists_are_said(tmp_path, caplog):
    path = tmp_path / "rows.csv"
    path.write_text(
        "text,label\n[well?],a\n#NAME?,b\nnan,a\nNone,a\nNA,b\n\"['a', 'b']\",a\nb'x',a\nb'x'y,b\n"
    )
    assert len(list(ONE_LABEL_FILES.read_examples(path, DatasetConfig()))) == 8
    assert "The column 'text' has texts like b'...', which look like bytes" in caplog.text
    assert "rows.csv line 7 has the text \"['a', 'b']\", which looks like a list" in caplog.text
    assert "4 text(s) are what programs write where there is none, the first '#NAME?' (" in caplog.text
    path.write_text("text,label\nNone,a\nof,b\n")
    assert len(list(ONE_LABEL_FILES.read_examples(path, DatasetConfig(sentence="id")))) == 2
    assert caplog.text.count("where there is none") == 1, "a word of a sentence"


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        (r"the food was good.\n\nthe staff was not", True),  # Yelp, Amazon, Yahoo and DBpedia of fastText
        (r"the food was good.\r\nbut cold", True),
        (r"the food was good.\nThe staff was not", True),
        (r"let $\nu \neq \nabla$ be given", False),
        (r"how to write '\n' in Python: print('a\n') or print('\nb')", False),
        ("a line\n" r"print(a\n\nb)", False),
    ],
)
def test_line_ends_that_a_program_wrote_as_two_characters_are_said(tmp_path, caplog, text, is_said):
    for written, others in ((9, 0), (10, 990), (10, 989)):
        rows = [{"text": text, "label": "a"}] * written + [{"text": "no", "label": "b"}] * others
        path = tmp_path / f"{written + others}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        list(ONE_LABEL_FILES.read_examples(path, DatasetConfig()))
    said = [message for message in caplog.messages if "hold the two characters \\n, which" in message]
    assert len(said) == is_said and all("999.jsonl: 10 text(s)" in message for message in said)


@pytest.mark.parametrize("value", [None, math.nan])
@pytest.mark.parametrize("files", [ONE_LABEL_FILES, NumberFiles(), SEVERAL_LABELS_FILES])
def test_a_missing_value_is_no_label(tmp_path, files, value):
    good = ["a"] if files is SEVERAL_LABELS_FILES else 1
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": "x", "label": label}) + "\n" for label in (good, value)))
    with pytest.raises(ValueError, match="line 2 has (null|the number nan)"):
        list(files.read_examples(path, DatasetConfig()))
    assert len(list(files.read_examples(path, DatasetConfig(skip_unlabelled=True)))) == 1


@pytest.mark.parametrize(("labels", "is_class"), [
    (["neutral", "-", "entailment"], False),
    (["+", "-", "+"], True),
    (["+1", "-1", "+1"], True),
    (["-2", "-1", "0", "1", "2"], True),
    (["0", "1", "2", "-1"], False),
    (["0", "-1", "0"], False),
    (["0.0", "-1.0", "2.0"], False),
    (["0", "1", "2", "-1.00"], False),
    (["0", "1", "-100"], False),
    (["-100", "-50", "0"], True),
    (["a", "--", "b"], False),
    (["entailment", "-1", "neutral"], False),
    (["entailment", "-100", "neutral"], False),
    (["entailment", "-1", "1"], True),
    (["a", "\u2014", "b"], False),
])  # fmt: skip
def test_a_minus_is_a_class_beside_its_plus_alone(with_source, labels, is_class):
    path = with_source(labels)
    if is_class:
        assert set(completed(path)) == set(labels)
        assert set(completed(with_source([*labels, ""]), skip_unlabelled=True)) == set(labels)
        return
    mark = next(label for label in labels if label in ("-1", "-", "--", "\u2014", "-1.0", "-1.00", "-100"))
    with pytest.raises(ValueError, match=rf"1 of {len(labels)} labels are '{mark}', .*skip_unlabelled=true"):
        completed(path)
    assert set(completed(path, skip_unlabelled=True)) == set(labels) - {mark}
    with pytest.raises(ValueError, match="line|row"):
        completed(path, labels=tuple(sorted(set(labels) - {mark})))
    classes = tuple(sorted(set(labels) - {mark}))
    assert completed(path, labels=classes, skip_unlabelled=True) == classes


@pytest.mark.parametrize(("numbers", "is_number"), [
    ([3.5, -1, 4, -1, 0], False),
    ([0.5, -100, 3, -1], False),
    ([0.5, -100, 1], False),
    ([0, 0.25, 1, -1], True),
    ([-1, 0, 1], True),
    ([-1, 1], True),
    ([-1, -0.5, 3], True),
    ([-100, -50, 3], True),
    ([-2, -1, 5], True),
])  # fmt: skip
@pytest.mark.parametrize("files", [NumberFiles(), ScoredPairFiles()], ids=["numbers", "pairs"])
def test_a_number_may_mark_a_row_without_one(tmp_path, caplog, files, numbers, is_number):
    """GLUE's STS-B has -1 in each row of its test split, as `datasets` gives it."""
    path, dataset = tmp_path / "rows.jsonl", DatasetConfig(text_pair="b")
    path.write_text(
        "".join(json.dumps({"text": f"{n}", "b": "y", "label": x}) + "\n" for n, x in enumerate(numbers))
    )
    assert len(list(files.read_examples(path, dataset))) == len(numbers)
    assert ("where there is none" in caplog.text) is not is_number
    skipping = dataclasses.replace(dataset, skip_unlabelled=True)
    left = [number for number in numbers if is_number or number not in (-1, -100)]
    assert [example[-1] for example in files.read_examples(path, skipping)] == left


def test_a_whole_float_is_the_number_of_a_class(tmp_path):
    """A column of pandas is one where a label is missing."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"text": "x", "label": {label}}}\n' for label in ("1.0", "0.0", "NaN", "1")))
    for labels, expected in (((), "101"), (("0.0", "1.0"), ("1.0", "0.0", "1.0"))):
        dataset = DatasetConfig(skip_unlabelled=True, labels=labels)
        rows = ONE_LABEL_FILES.read_examples(path, dataset)
        assert [row.label for row in rows] == list(expected)
    for labels, cells in ((("-1", "0", "1"), "1.0 0.0 -1.0 1"), (("-1.0", "0.0", "1.0"), "1 0.0 -1 1.0")):
        path.with_suffix(".csv").write_text("text,label\n" + "".join(f"x,{cell}\n" for cell in cells.split()))
        rows = ONE_LABEL_FILES.read_examples(path.with_suffix(".csv"), DatasetConfig(labels=labels))
        assert [row.label for row in rows] == [labels[2], labels[1], labels[0], labels[2]]
    path.write_text('{"text": "x", "label": [1.0, 3, 2.0]}\n')
    (row,) = SEVERAL_LABELS_FILES.read_examples(path, DatasetConfig())
    assert row.label == ("1", "3", "2")
    path.with_suffix(".csv").write_text("text,label\nx,1.0\nx,0;1.0\nx,\"['1', '0.0']\"\n")
    path.write_text('{"text": "x", "label": 1.5}\n{"text": "x", "label": 1}\n{"text": "x", "label": NaN}\n')
    dataset = DatasetConfig(labels=("half", "1.0", "1.50"), skip_unlabelled=True)
    assert [row.label for row in ONE_LABEL_FILES.read_examples(path, dataset)] == ["1.50", "1.0"]
    assert label_set({"label": [1.5, 1e30]}, DatasetConfig(labels=("1.5", "1e+30")), "") == ("1.5", "1e+30")
    for labels in (("0", "1"), ("0.0", "1.0")):
        dataset = DatasetConfig(labels=labels, label_separator=";")
        rows = SEVERAL_LABELS_FILES.read_examples(path.with_suffix(".csv"), dataset)
        assert [row.label for row in rows] == [labels[1:], labels, labels[::-1]]


@pytest.mark.parametrize("files", [ONE_LABEL_FILES, NumberFiles(), SEVERAL_LABELS_FILES])
def test_a_row_of_json_without_the_key_has_no_label(tmp_path, files):
    path, dataset = tmp_path / "rows.jsonl", DatasetConfig(skip_unlabelled=True)
    good = {"text": "x", "label": ["a"] if files is SEVERAL_LABELS_FILES else 1}
    path.write_text(f"{json.dumps(good)}\n" + 2 * '{"text": "y"}\n')
    assert len(list(files.read_examples(path, dataset))) == 1
    for rows, skip in ((2, True), (1, False)):
        path.write_text(f"{json.dumps(good)}\n" * (rows == 1) + rows * '{"text": "y"}\n')
        with pytest.raises(ValueError, match="has no column 'label'"):
            list(files.read_examples(path, DatasetConfig(skip_unlabelled=skip)))


def test_a_class_that_is_made_of_others_is_warned_of(tmp_path, caplog):
    judge_classes({"a": 2, "b": 3, "a;b": 4, "new york": 2, "new": 1, "york": 1}, tmp_path)
    assert caplog.text.count("is made of the labels 'a', 'b'. It is learned as a label of its own") == 1
    assert "york" not in caplog.text


@pytest.mark.parametrize("judge", [judge_classes, judge_labels, judge_several_labels])
def test_labels_that_are_there_once_are_no_classes(tmp_path, caplog, judge):
    once = {f"{'title' * (judge is judge_labels)}{number}": 1 for number in range(100, 119)}
    judge(once, tmp_path)
    judge(once | dict.fromkeys(map(str, range(19)), 2), tmp_path)
    assert not caplog.records
    judge(once | {"7": 20}, tmp_path)
    is_said = judge is not judge_several_labels  # of which many are rare
    assert ("19 of 20 labels are there once" in caplog.text) == is_said
    assert ('set task = "sequence_regression"' in caplog.text) == (judge is judge_classes)
    with pytest.raises(ValueError, match="20 of 20 labels are there once"):
        judge(once | {"7": 1}, tmp_path)


def test_minus_one_beside_zero_and_one_may_be_either(tmp_path, caplog):
    judge_labels({"-1": 2, "0": 3, "1": 4}, tmp_path)
    assert "'-1', as `datasets` writes it where there is none." in caplog.text
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na,-1\nb,0\nc,1\nd,\n")
    with pytest.raises(ValueError, match="1 of 3 labels are '-1', .* List the classes in dataset.labels"):
        completed(path, skip_unlabelled=True)
    for labels in (("-1", "0", "1"), ("0", "1")):
        dataset = DatasetConfig(labels=labels, skip_unlabelled=True)
        assert tuple(row.label for row in ONE_LABEL_FILES.read_examples(path, dataset)) == labels


@pytest.mark.parametrize("blank", ["", " ", "\u200b"])
def test_a_blank_cell_of_several_labels_is_none_or_a_row_without_labels(tmp_path, blank):
    path = tmp_path / "rows.csv"
    path.write_text(f"text,label\na,x\nb,{blank}\nc,[]\nd,x;y\n")
    for skip, sets in ((False, [("x",), (), (), ("x", "y")]), (True, [("x",), (), ("x", "y")])):
        dataset = DatasetConfig(label_separator=";", skip_unlabelled=skip)
        assert [row.label for row in SEVERAL_LABELS_FILES.read_examples(path, dataset)] == sets


def test_a_file_without_any_label(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("text,label\na,-1\nb,-1\n")
    with pytest.raises(ValueError, match="no row has a label: 2 of the labels are '-1'"):
        completed(path, skip_unlabelled=True)
    path.write_text("text,label\na,NA\nb,\n")
    with pytest.raises(ValueError, match="no row of 2 has a label; the first: .*line 2 has 'NA'"):
        completed(path, skip_unlabelled=True)


@pytest.mark.parametrize(
    "header", ["review,sentiment", "sentence,polarity", "utterance,act", "Satz,Klasse", "Ein Satz,class"]
)
def test_a_header_in_a_file_that_is_said_to_have_none(tmp_path, header):
    path, named = tmp_path / "train.csv", {"column_names": ("text", "label")}
    rows = "".join(f"a film of {n},{'good' if n % 2 else 'bad'}\n" for n in range(20))
    path.write_text(f"{header}\n{rows}")
    why = "line 1 (repeats the header|looks like a header).*leave out dataset.col"
    for files in (ONE_LABEL_FILES, SEVERAL_LABELS_FILES):
        with pytest.raises(ValueError, match=why):
            completed(path, files, **named)
    text, label = header.split(",")
    assert completed(path, text=text, label=label) == ("bad", "good")
    path.write_text(f"{rows}splendid,good\n")
    assert completed(path, **named) == ("bad", "good")
    path.write_text(f"splendid,fair\n{rows}so so,fair\n")
    assert completed(path, **named) == ("bad", "fair", "good")
    path.write_text(f"splendid,fair\n{rows}")
    assert completed(path, **named, labels=("bad", "fair", "good")) == ("bad", "fair", "good")
    path.write_text(f"{header}\n{rows}splendid,good\n")
    if label in ("sentiment", "polarity", "class"):  # which no class is called
        with pytest.raises(ValueError, match=why):
            completed(path, **named)
    path.write_text("Abbas,Arabic\n" + "Adamou,Greek\nByrne,Irish\n" * 12)
    assert completed(path, **named) == ("Arabic", "Greek", "Irish")


@pytest.mark.parametrize("header", [
    "Class Index,Title", "label (0/1),text", "Sentiment Label,Review Text", "gold-label,sentence",
    "Category ID,News Text", "polarity score,tweet", "Star Rating,Review Text", "Sentiment Class,Phrase",
    "Klasse,Ein Satz", "Die Klasse,Satz",
])  # fmt: skip
@pytest.mark.parametrize("files", [ONE_LABEL_FILES, SEVERAL_LABELS_FILES])
def test_a_header_of_several_words(tmp_path, header, files):
    """AG News of Kaggle, and what people write."""
    path = tmp_path / "train.csv"
    rows = "".join(f"{n % 4 + 1},a film of {n}\n" for n in range(20))
    path.write_text(f"{header}\n{rows}")
    for columns in (("label", "text"), ("label", "title")):
        named = {"column_names": columns, "text": columns[1]}
        with pytest.raises(ValueError, match="line 1 looks like a header .*leave out dataset.column_names"):
            completed(path, files, **named)
        path.write_text(rows)
        assert completed(path, files, **named) == ("1", "2", "3", "4")
        path.write_text(f"{header}\n{rows}")


def test_a_header_of_texts_without_a_label(tmp_path):
    path, columns = tmp_path / "triples.tsv", ("text", "text_pair", "negative")
    dataset = DatasetConfig(text_pair="text_pair", negatives=columns[2:], column_names=columns)
    rows = "how are you\tfine\tno idea\n"
    path.write_text(f"query\tpositive\tnegative\n{rows}")
    with pytest.raises(ValueError, match="line 1 looks like a header .'query', 'positive', 'negative'"):
        list(PositiveFiles().read_examples(path, dataset))
    path.write_text(rows)
    assert len(list(PositiveFiles().read_examples(path, dataset))) == 1


def test_a_header_of_names(tmp_path):
    path, named = tmp_path / "names.csv", {"column_names": ("text", "label")}
    rows = "Mary,F\nJohn,M\n" * 12
    for header in ("Name,Gender", "label,text"):
        path.write_text(f"{header}\n{rows}")
        with pytest.raises(ValueError, match="line 1 looks like a header"):
            completed(path, **named)
    for header in ("article,topic", "review,sentiment", "text,label"):
        path.write_text(f"{header}\n{rows}")
        with pytest.raises(ValueError, match=r"line 1 .*header.*If it is a row, list all labels in dataset"):
            completed(path, **named)
        labels = ("F", "M", header.split(",")[1])
        assert completed(path, **named, labels=labels) == labels


@pytest.mark.parametrize(("first", "row"), [
    ("splendid,fair", "so,good"),
    ("Abbas,Arabic", "Adamou,Greek"),
    ("New York,big city", "Springfield,town"),
    ("label 1,text 1", "label 2,text 2"),
    ("great product,very positive", "a bad one,negative"),
    ("7,seven", "8,eight"),
    ("one,1", "two,2"),
    ("Is it a review,topic name", "no,b"),
    ("good morning,greeting", "a question,faq"),
    ("good morning,greeting", "What is it?,faq"),
    ("great product,quality", "It came too late.,delivery"),
])  # fmt: skip
def test_a_first_row_is_no_header_that_is_like_others(tmp_path, first, row):
    path, named = tmp_path / "rows.csv", {"column_names": ("text", "label")}
    path.write_text(f"{first}\n" + f"{row}\n" * 30)
    if first.startswith("Is"):  # what no label is called
        with pytest.raises(ValueError, match="line 1 looks like a header"):
            completed(path, **named)
    else:
        assert completed(path, **named) == tuple(sorted(line.split(",")[1] for line in (first, row)))


# ------------------------------------------------------------------------------ several labels


@pytest.mark.parametrize("separator", [None, ",", ";"])
@pytest.mark.parametrize("cell", [
    "['x', 'y']", '["x", "y"]', "['x' 'y']", "['x'\n 'y']", "('x', 'y')", "{'x', 'y'}", " ['x','y'] ",
    "array(['x', 'y'], dtype=object)", "['x', \"y\"]",
    "Index(['x', 'y'], dtype='object')", "frozenset({'x', 'y'})",
])  # fmt: skip
def test_a_printed_list_is_its_entries(cell, separator):
    dataset = DatasetConfig(label_separator=separator)
    assert label_set({"label": cell}, dataset, "here") == ("x", "y")


@pytest.mark.parametrize(("cell", "names"), [
    ("[]", ()), ("", ()), ("set()", ()), ("()", ()), ("['x']", ("x",)), ("[3, 17]", ("3", "17")),
    ("['it\\'s']", ("it's",)), (r'["\ud83d\ude00", "1\/2"]', ("\U0001f600", "1/2")),
    ('{"x": true, "z": false}', ("x",)),
    ("[sic]", ("[sic]",)), ("a (b), c", ("a (b)", "c")), ("x,y", ("x", "y")), ("[a],[b]", ("[a]", "[b]")),
    ('["a, b"]', ("a, b",)), ("x, y,", ("x", "y")), ({"x": 1, "z": 0, "y": True}, ("x", "y")),
    ("{'x': 1, 'z': 0}", ("x",)),
])  # fmt: skip
def test_other_cells(cell, names):
    if cell == "[a],[b]":
        with pytest.raises(ValueError, match=r"here has the string \[a\],\[b\] as its label"):
            label_set({"label": cell}, DatasetConfig(label_separator=","), "here")
        return
    assert label_set({"label": cell}, DatasetConfig(label_separator=","), "here") == names


@pytest.mark.parametrize("value", [["\ud83d"], r"['\ud83d']", {"\ud83d": 1}])
def test_half_a_character_is_no_label(value):
    with pytest.raises(ValueError, match=r"here has text with half a surrogate pair \(U\+D83D\)"):
        label_set({"label": value}, DatasetConfig(), "here")


@pytest.mark.parametrize("cell", ["['x', nan]", r"['\x']", "['x\ny']", "['x', 'y', ..."])
def test_a_list_that_is_not_understood_is_no_name(cell):
    with pytest.raises(ValueError, match="(?s)here has .* which looks like a list"):
        label_set({"label": cell}, DatasetConfig(), "here")
    if cell.endswith("]"):
        for written in (cell, '{"choices": ["x", "y"]}'):
            with pytest.raises(ValueError, match="which is a list or an object as text"):
                class_label({"label": written}, DatasetConfig(), "here")


def test_a_class_in_brackets_is_listed():
    with pytest.raises(ValueError, match="else write the name alone, or, if it is one, list all labels in"):
        class_label({"label": "(1)"}, DatasetConfig(), "here")
    assert class_label({"label": "(1)"}, DatasetConfig(labels=("(1)", "(2)")), "here") == "(1)"


@pytest.mark.parametrize("mark", [*",;|/#", "\uff0c", "\u3001", "\uff1b", "\u060c"])
def test_labels_that_were_not_separated_are_refused(mark):
    with pytest.raises(
        ValueError, match="the label 'x.y' .* is made of the labels 'x', 'y'; set dataset.lab"
    ):
        judge_several_labels({"x": 2, "y": 1, f"x{mark}y": 1}, "file")


@pytest.mark.parametrize("mark", "/ ")
def test_a_name_may_consist_of_others_where_rows_have_several(mark, tmp_path, caplog):
    name = f"pop{mark}rock"
    lists = [json.dumps({"text": "a", "label": row}) for row in (["pop", "rock"], [name])]
    for path, content in (
        (tmp_path / "a.jsonl", "\n".join(lists)),
        (tmp_path / "a.csv", f"text,label\na,pop|rock\nb,{name}\n"),
    ):
        path.write_text(content)
        dataset = DatasetConfig(label_separator="|" if path.suffix == ".csv" else None)
        rows = list(SEVERAL_LABELS_FILES.read_examples(path, dataset))
        assert [row.label for row in rows] == [("pop", "rock"), (name,)]
        assert f"{path}: the label {name!r} (1) is made of the labels 'pop', 'rock'. It is" in caplog.text


def test_a_mark_at_the_end_of_names_separates_nothing(caplog):
    judge_several_labels({"C#": 2, "F#": 1, "Python": 3}, "file")
    assert not caplog.messages


@pytest.mark.parametrize("value", [["nan"], ["x", "None"], [-1], ["-"], "-", "nan", None])
def test_an_entry_that_stands_for_no_label(value):
    advice = r"write \[\] if no label holds, or leave .*" if value in ("-", "nan", None) else ""
    with pytest.raises(NoLabel, match=f"here has .*{advice}skip_unlabelled=true"):
        label_set({"label": value}, DatasetConfig(labels=("x",)), "here")


@pytest.mark.parametrize("value", [[1, 0, 1], [1.0, 0.0, 1.0], [True, False, True], "[1 0 1]", "[1, 0, 1]",
    "tensor([1., 0., 1.], device='cuda:0')"])  # fmt: skip
def test_a_zero_or_one_for_each_label(value):
    for labels in (("a", "b", "c"), ("0", "1", "2")):
        assert label_set({"label": value}, DatasetConfig(labels=labels), "here") == (labels[0], labels[2])
    for labels in ((), ("a", "b")):
        with pytest.raises(ValueError, match="here .*looks like a 0 or 1 for each of 3 labels"):
            label_set({"label": value}, DatasetConfig(labels=labels), "here")


@pytest.mark.parametrize(
    ("first", "second", "other"), [("[1, 0]", "[0, 1]", "[1]"), ("[1. 0.]", "[0. 1.]", "[0.]")]
)
def test_a_zero_or_one_for_each_of_two_labels(tmp_path, first, second, other):
    """Each row would have both of the labels "0" and "1"."""
    path = tmp_path / "toxic.csv"
    path.write_text(f'text,label\na,"{first}"\nb,"{second}"\n')
    with pytest.raises(ValueError, match="a 0 or 1 for each of 2 labels: name these"):
        completed(path, SEVERAL_LABELS_FILES)
    assert completed(path, SEVERAL_LABELS_FILES, labels=("rude", "toxic")) == ("rude", "toxic")
    path.write_text(path.read_text() + f'c,"{other}"\n')  # so these are numbers of labels
    assert set(map(float, completed(path, SEVERAL_LABELS_FILES))) == {0, 1}


@pytest.mark.parametrize(("name", "cells", "labels", "first"), [
    ("a", ("000101", "100000", "011000"), ("a", "b", "c", "d", "e", "f"), ("d", "f")),  # hedwig's Reuters
    ("a", ("01", "10"), ("rude", "toxic"), ("toxic",)),
    ("number", ("010", "001"), ("0", "1", "2"), ("1",)),
])  # fmt: skip
def test_a_text_of_a_zero_or_one_for_each_label(tmp_path, name, cells, labels, first):
    path, named = tmp_path / f"{name}.tsv", {"column_names": ("label", "text")}
    path.write_text("".join(f"{cell}\ta text of {n}\n" for n in range(10) for cell in cells))
    with pytest.raises(ValueError, match=f"a 0 or 1 for each of {len(labels)} labels: name these"):
        completed(path, SEVERAL_LABELS_FILES, **named)
    examples = SEVERAL_LABELS_FILES.read_examples(path, DatasetConfig(labels=labels, **named))
    assert next(examples).label == first


def test_a_zero_or_one_for_each_class_is_no_class(tmp_path):
    """The first of such a list, as other lists are told to give, is 1 for the class 0."""
    for value in ([0, 1, 0], [True, False], ["0", "1.0"]):
        with pytest.raises(ValueError, match=r"a 0 or 1 for each class.*jq -c '.label \|= .*index\(true\)"):
            class_label({"label": value}, DatasetConfig(), "here")
    for value in ([1], [1, 1], [0, 0], [0, 1, 2], ["x"]):
        with pytest.raises(ValueError, match=r"jq -c '.label \|= .\[0\]'"):
            class_label({"label": value}, DatasetConfig(), "here")
    (tmp_path / "rows.csv").write_text("text,neg,pos\na,1,0\n")
    with pytest.raises(ValueError, match=r"df\['label'\] = df\[\['neg', 'pos'\]\].idxmax\(axis=1\)"):
        completed(tmp_path / "rows.csv", labels=("neg", "pos"))


def test_names_with_a_zero_or_one_each_are_refused(tmp_path):
    """HoC of NCBI's BLUE; its names were two labels each."""
    with pytest.raises(ValueError, match="each of the names '0', '1' is in all rows.*as in '0_0'; write"):
        judge_several_labels({"0_0": 3, "1_0": 2, "1_1": 2, "0_1": 1}, tmp_path)


def test_labels_of_zeros_and_ones_that_are_names(tmp_path):
    for counts in ({"10": 2, "11": 3}, {"1": 2, "0": 1}, {"a_0": 2, "a_1": 3}, {"a_0": 2, "b_1": 2}):
        judge_several_labels(counts, tmp_path)
    assert label_set({"label": "10"}, DatasetConfig(labels=("10", "11")), "here") == ("10",)
    with pytest.raises(ValueError, match="label '11' is not among"):
        label_set({"label": "11"}, DatasetConfig(labels=("0", "1")), "here")


@pytest.mark.parametrize("cells", ["<c#><sql>,<sql>,<python>", "|c#|sql|,sql|,|python|"])
def test_tags_of_stack_overflow(tmp_path, cells):
    path, separator = tmp_path / "posts.csv", "><" if "<" in cells else "|"
    path.write_text("text,label\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells.split(","))))
    assert completed(path, SEVERAL_LABELS_FILES, label_separator=separator) == ("c#", "python", "sql")
    if separator == "><":
        with pytest.raises(ValueError, match="label '<c#><sql>' is several in <>; set dataset.label_separ"):
            completed(path, SEVERAL_LABELS_FILES)
        path.write_text("text,label\na,<other>\nb,<none>\n")
        assert completed(path, SEVERAL_LABELS_FILES) == ("<none>", "<other>")
    with pytest.raises(ValueError, match="names with dataset.label_separator between them"):
        label_set({"label": "x;;y"}, DatasetConfig(label_separator=";"), "here")


def test_names_that_are_truth_values_are_names_in_every_reading():
    """A later reading has the labels that the first found."""
    for labels in ((), ("False", "True"), ("False", "True", "other")):
        assert label_set({"label": ["True", "False"]}, DatasetConfig(labels=labels), "") == ("True", "False")


@pytest.mark.parametrize("value", [[1.0, 0.0], [True, False]])
def test_numbers_and_truth_values_are_no_names(value):
    with pytest.raises(ValueError, match="here .*looks like a 0 or 1 for each of 2 labels"):
        label_set({"label": value}, DatasetConfig(), "here")


@pytest.mark.parametrize("one", ["1", "1.0", "1.00", "True", "true"])
def test_a_column_for_each_label(tmp_path, one, caplog):
    path = tmp_path / "toxic.csv"
    path.write_text(f"id,text,toxic,rude\n1,a,{one},0\n2,b,0,0\n3,c,{one},{one}\n4,d,-1,-1\n")
    dataset = DatasetConfig(labels=("rude", "toxic"), skip_unlabelled=True)
    examples = list(SEVERAL_LABELS_FILES.read_examples(path, dataset))
    assert [example.label for example in examples] == [("toxic",), (), ("rude", "toxic")]
    with pytest.raises(ValueError, match="line 5 has the string -1 in the column 'rude'"):
        completed(path, SEVERAL_LABELS_FILES, labels=("rude", "toxic"))
    with pytest.raises(ValueError, match=r"no column 'label'.*'toxic', 'rude'\? list all of these"):
        completed(path, SEVERAL_LABELS_FILES)


@pytest.mark.parametrize(("content", "message"), [
    ("text,toxic,rude,toxic\na,1,0,0\n", "has 2 columns 'toxic'"),
    ("text,toxic,Rude\na,1,0\n", "line 2 has no column 'rude' of 0 and 1, .* Did you mean 'Rude'?"),
    ("text,toxic,rude\na,,1\n", "nothing in the column 'toxic' .*; write 0 if it does not hold"),
])  # fmt: skip
def test_what_is_wrong_with_a_column_for_each_label(tmp_path, content, message):
    path = tmp_path / "toxic.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        completed(path, SEVERAL_LABELS_FILES, labels=("toxic", "rude"))


def test_a_row_of_json_without_one_of_the_columns_of_labels_may_be_left_out(tmp_path):
    path = tmp_path / "toxic.jsonl"
    path.write_text('{"text": "a", "toxic": 1, "rude": 0}\n{"text": "b", "toxic": 1}\n')
    dataset = DatasetConfig(labels=("toxic", "rude"), skip_unlabelled=True)
    assert [row.text for row in SEVERAL_LABELS_FILES.read_examples(path, dataset)] == ["a"]


# ------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize(("value", "mend"), [
    ("2,5", r"write 2\.5 if the comma is a decimal one"),
    ("1,234", r"write 1\.234 if the comma is a decimal one, without it if it is not"),
    ("1,234,567", "without marks between thousands"),
    ("1.234,5", "without marks between thousands"),
    ("1 234.5", "without marks between thousands"),
    ("80%", "without the percent sign"),
    ("1_5", "fix the row"),
    ("two", "fix the row"),
    ("1e39", r"of at most 3\.4e\+38: fix the row"),
    (-(10**39), r"of at most 3\.4e\+38: fix the row"),
    (1e39, r"of at most 3\.4e\+38: fix the row"),
])  # fmt: skip
def test_a_number_in_another_notation_is_told_how_to_write_it(value, mend):
    with pytest.raises(ValueError, match=mend):
        number_label({"label": value}, DatasetConfig(), "here")


@pytest.mark.parametrize(
    ("numbers", "is_said"),
    [
        (("1.250", "85", "12.500"), True),
        (("1.250", "0.125", "3.000"), False),
        (("1.250", "2.500"), False),
        (("1.25", "85"), False),
        (("1.250", "8500"), False),
    ],
)
def test_points_that_may_separate_thousands_are_said(numbers, is_said, tmp_path, caplog):
    path = tmp_path / "prices.csv"
    path.write_text("text,label\n" + "".join(f"a {n},{number}\n" for n, number in enumerate(numbers)))
    rows = [row.label for row in NumberFiles().read_examples(path, DatasetConfig())]
    assert rows == list(map(float, numbers))
    assert ("'1.250' stand beside whole numbers and are read as fractions" in caplog.text) == is_said


@pytest.mark.parametrize(
    ("numbers", "far"),
    [
        (
            (0.5, 4, -999, 999, -999),
            "2 of the labels are -999, 1 of the labels are 999, and all others at most 4",
        ),
        ((0, 9.5, 99), "1 of the labels are 99, and all others at most 9.5"),
        ((0, 50, 99, 600, -999), ""),
        ((99, 99), ""),
    ],
)
def test_numbers_that_mark_rows_without_one_are_warned_of(tmp_path, numbers, far, caplog):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"x,{number}\n" for number in numbers))
    rows = NumberFiles().read_examples(path, DatasetConfig())
    assert [row.label for row in rows] == list(numbers)
    assert (f"{path}: {far}" in caplog.text) if far else not caplog.text


def test_a_number_that_is_missing_is_no_class():
    with pytest.raises(
        NoLabel, match="'nan' .* or leave all such rows out by dataset.skip_unlabelled=true.$"
    ):
        number_label({"label": "nan"}, DatasetConfig(), "here")
    with pytest.raises(
        NoLabel, match=r"skip_unlabelled=true\. If it is a class, list it in dataset\.labels\.$"
    ):
        class_label({"label": "nan"}, DatasetConfig(), "here")


def test_minus_one_is_a_number():
    assert number_label({"label": "-1"}, DatasetConfig(skip_unlabelled=True), "here") == -1.0


def test_what_was_rejected_in_prodigy_is_refused_of_tables_too(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = {"text": ["a", "b"], "label": ["x", "y"], "other": [b"1", b"2"], "answer": ["accept", "reject"]}
    parquet.write_table(pa.table(rows), path)
    with pytest.raises(ValueError, match="row 2 has 'reject' as its 'answer'"):
        list(ONE_LABEL_FILES.read_examples(path, DatasetConfig()))


def test_an_answer_among_the_texts_may_be_any_word(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "And you?", "answer": "ignore", "label": "x"}', encoding="utf-8")
    (row,) = ONE_LABEL_FILES.read_examples(path, DatasetConfig(text_pair="answer"))
    assert row.text_pair == "ignore"


def test_what_was_rejected_in_prodigy_is_no_label(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"text": "a", "label": "x", "answer": answer} for answer in ("accept", "reject", "ignore", ["reject"])
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(ValueError, match=r"(?s)line 2 has 'reject' as its 'answer'.*line 3 has 'ignore'"):
        list(ONE_LABEL_FILES.read_examples(path, DatasetConfig()))
    assert len(list(ONE_LABEL_FILES.read_examples(path, DatasetConfig(), with_labels=False))) == 4
    path.write_text("\n".join(map(json.dumps, rows[:3])), encoding="utf-8")
    read = ONE_LABEL_FILES.read_examples(path, DatasetConfig(label="answer"))
    assert [row.label for row in read] == ["accept", "reject", "ignore"]
