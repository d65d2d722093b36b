"""One message with everything that is wrong in a labelled file; what is read as a person means it."""

import gzip

import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.labelled_files import LabelledText, read_header, read_rows, stream_rows
from kbert.input_pipelines.unlabelled_files import examples_from_columns
from kbert.tasks.file_columns import check_file

PLAIN = DatasetConfig()
GOOD_AND_BAD = [LabelledText("gut, schön", None, "pos"), LabelledText("schlecht", None, "neg")]


@pytest.fixture
def write(tmp_path):
    def write(name, content, encoding="utf-8"):
        path = tmp_path / name
        content = content if isinstance(content, bytes) else content.encode(encoding)
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def message_of(path, dataset=PLAIN, with_labels=True):
    with pytest.raises(ValueError) as error:
        list(stream_rows(path, dataset, with_labels))
    return str(error.value).replace(str(path), path.name).split("\n")


# ------------------------------------------------------------------------------ what is read

READ = {
    "semicolons": ("a.csv", "text;label\ngut, schön;pos\nschlecht;neg\n", {}),
    "semicolons, quoted": ("a.csv", 'text;label\n"gut, schön";"pos"\n"schlecht";neg\n', {}),
    "semicolons and quoted names": ("A.CSV", '"text";"label"\n"gut, schön";pos\nschlecht;neg\n', {}),
    "tabs in .csv": ("a.csv.gz", 'text\tlabel\n"gut, schön"\tpos\nschlecht\tneg\n', {}),
    "commas in .tsv": ("a.tsv", 'id,text,label\n1,"gut, schön",pos\n2,schlecht,neg\n', {}),
    "bars": ("a.csv", "text|label\ngut, schön|pos\nschlecht|neg\n", {}),
    "quoted names in .tsv": ("a.tsv", '"text"\t"label"\n"gut, schön"\t"pos"\n"schlecht"\t"neg"\n', {}),
    "blanks behind commas": ("a.csv", ' text , label\n"gut, schön", "pos"\nschlecht, neg\n', {}),
    "blanks before quotes": ("a.csv", 'id, text, label\n1, "gut, schön", "pos"\n2, schlecht, neg\n', {}),
    "blanks behind commas but those of the header": (
        *("a.csv", 'id,text,label\n1, "gut, schön", "pos"\n2, schlecht, neg\n'),
        {},
    ),
    "blanks before the last cells": ("a.csv", 'text,label\n"gut, schön", pos\n\nschlecht, neg\n', {}),
    "blank lines above": ("a.csv", "\n \ntext;label\n\ngut, schön;pos\nschlecht;neg\n", {}),
    "a delimiter of one's own": ("a.csv", "text^label\ngut, schön^pos\nschlecht^neg\n", {"delimiter": "^"}),
    "Excel's first line": ("a.csv", "sep=;\r\ntext;label\r\ngut, schön;pos\r\nschlecht;neg\r\n", {}),
    "Excel's first line beside another delimiter": (
        "a.csv",
        "sep=,\ngut, schön^pos\nschlecht^neg\n",
        {"column_names": ("text", "label"), "delimiter": "^"},
    ),
    "a delimiter at each end": ("a.csv", "text;label;\ngut, schön;pos;\nschlecht;neg;\n", {}),
    "one at the ends of rows alone": ("a.csv", "text;label\ngut, schön;pos;;\nschlecht;neg;\n", {}),
    "one at the end of the header alone": ("a.csv", "text;label;;\ngut, schön;pos\nschlecht;neg\n", {}),
    "no header": (
        "a.csv",
        "gut, schön;pos\nschlecht;neg\n",
        {"column_names": ("text", "label"), "delimiter": ";"},
    ),
    "carriage returns alone": ("a.csv", "text;label\rgut, schön;pos\rschlecht;neg\r", {}),
    "mixed line ends": ("a.csv", "text;label\r\ngut, schön;pos\rschlecht;neg\n", {}),
    "quotes in tabs": (
        *("a.tsv", 'text\tlabel\n"gut, schön"\tpos\n"schlecht"\tneg\n'),
        {"file_format": "csv", "delimiter": "\\t"},
    ),
    "another delimiter of the run": (
        "a.csv",
        'text,label\n"gut, schön",pos\nschlecht,neg\n',
        {"delimiter": ";"},
    ),
    **{
        ending: (
            f"a{ending}",
            '{"text": "gut, schön", "label": "pos"}\n{"text": "schlecht", "label": "neg"}\n',
            {},
        )
        for ending in (".jsonl", ".ndjson", ".json", ".NDJSON.gz")
    },
}


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_a_person_means_is_read(write, case, encoding):
    name, content, settings = READ[case]
    path, dataset = write(name, content, encoding), DatasetConfig(**settings)
    assert read_rows(path, dataset) == GOOD_AND_BAD
    unlabelled = list(stream_rows(path, dataset, with_labels=False))
    assert [row.text for row in unlabelled] == [row.text for row in GOOD_AND_BAD]
    if not dataset.file_format and "json" not in name.lower():
        assert [row["text"] for row in examples_from_columns(path, [("text",)], dataset)] == [
            "gut, schön",
            "schlecht",
        ]
        assert read_header(path, dataset, ["text"])[:3] in (
            ["text", "label"],
            ["text", "label", ""],
            ["id", "text", "label"],
        )


def test_an_encoding_of_old_is_read_where_it_is_set_and_never_guessed(write, caplog):
    path = write("a.csv", "text;label\ngut, schön;pos\nschlecht;neg\n", "cp1252")
    assert read_rows(path, DatasetConfig(encoding="windows-1252")) == GOOD_AND_BAD
    (line,) = message_of(path)
    assert line == (
        "a.csv line 2 is not UTF-8 (byte 0xf6). It is likely to be cp1252, which gives 'gut, schön;pos': "
        "write --override=dataset.encoding=cp1252 where the command has it, or save it as UTF-8 "
        "(iconv -f CP1252 -t UTF-8)."
    )
    other = write(
        "b.csv", "text;label\ngut, schön;pos\nschlecht;neg\n"
    )  # such as one that a run is asked with
    assert read_rows(other, DatasetConfig(encoding="cp1252")) == GOOD_AND_BAD
    assert "b.csv is UTF-8, and is read so in spite of dataset.encoding='cp1252'" in caplog.text


@pytest.mark.parametrize(
    ("text", "encoding", "read_as", "sentence"),
    [
        ("“It’s good”", "cp1252", "latin-1", "set dataset.encoding=cp1252, which gives '“It’s good”;pos'"),
        ("šťastný život", "cp1250", "iso-8859-2", "set dataset.encoding=cp1250, which gives 'šťastný"),
        (
            "don\x92t",
            "utf-8",
            None,
            "WordPiece deletes, as those of a text that is read in a wrong encoding; get",
        ),
        ("cafÃ©", "utf-16", None, "had been read as another encoding and saved, as 'cafÃ©;pos'; get"),
        ("caf\ufffd", "utf-8", None, "hold U+FFFD, which"),
        ("café déjà", "latin-1", "latin-1", ""),
        ("šťastný život", "iso-8859-2", "iso-8859-2", ""),
        ("one\x85", "utf-8", None, ""),
        ("one…", "cp1252", "latin-1", "set dataset.encoding=cp1252, which gives 'one…;pos'"),
        ("\x93one\x9d", "latin-1", "latin-1", "a wrong encoding; get the texts again"),
        ("„žalias“", "cp1257", "iso-8859-13", "set dataset.encoding=cp1257, which gives '„žalias"),
        ("dont;neg\n" * 100 + "don\x92t", "utf-8", None, ""),
    ],
)
def test_texts_that_were_read_in_a_wrong_encoding_are_said(write, caplog, text, encoding, read_as, sentence):
    path = write("a.csv", f"text;label\n{text};pos\nschlecht;neg\n", encoding)
    read_rows(path, DatasetConfig(encoding=read_as))
    assert sentence in caplog.text and (f"{path}: 1 line(s)" in caplog.text) == bool(sentence)


def test_the_delimiter_of_a_file_without_a_header_is_found_by_the_number_of_columns(write):
    dataset = DatasetConfig(column_names=("text", "label"))
    assert read_rows(write("a.csv", "gut;pos\n"), dataset) == [LabelledText("gut", None, "pos")]
    assert read_rows(write("b.csv", "a; b,pos\n"), dataset) == [LabelledText("a; b", None, "pos")]


# ------------------------------------------------------------------------------ what is wrong


def test_everything_that_is_wrong_stands_in_one_message(write):
    rows = ["text;Category", "schön;gut", ";", "one;two;three", "mittel;", "", ";;;"]
    path = write("a.csv", "\n".join(rows) + "\n", "cp1252")
    lines = message_of(path, DatasetConfig(label="category"))
    assert lines[0] == "a.csv cannot be used as it is:" and all(line.startswith("  ") for line in lines[1:])
    for line, beginning in zip(
        lines[1:],
        [
            "line 2 is not UTF-8 (byte 0xf6). It is likely to be cp1252, which gives 'schön;gut'",
            "has no column 'category'; its columns are ['text', 'Category']. Did you mean 'Category'?",
            "line 4: 3 columns where 2 were expected (text, Category)",
            "2 row(s) are empty (line 3, 7); leave them out by dataset.skip_empty_rows=true.",
            "A text with ';' in it has to stand in quotation marks",
            "Write --override=dataset.label=Category or, in the config, dataset.label.",
        ],
        strict=True,
    ):
        assert line.strip().startswith(beginning)


def test_twenty_rows_are_named_and_those_that_are_alike_together(write):
    path = write("a.tsv", "text\tlabel\n" + "x\t\n" * 15 + "x\n" * 30)
    lines = message_of(path)
    assert lines[1].startswith("  line 2 has no label in column 'label'")
    assert lines[1].endswith("(Also line 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 4 more.)")
    assert (
        lines[2].startswith("  line 17: 1 columns where 2 were expected")
        and "(Also line 18, 19, 20, 21.)" in lines[2]
    )
    assert lines[3] == "  Here the reading ended, after 20 rows." and len(lines) == 4


def test_empty_rows_are_left_out_by_a_setting_and_counted(write, caplog):
    path = write("a.csv", "text;label\na;x\n;\n \t;\nb;y\n;;;;\n")
    (line,) = message_of(path)
    assert line == (
        "a.csv: 3 row(s) are empty (line 3, 4, 6); leave them out by dataset.skip_empty_rows=true."
    )
    assert [row.text for row in read_rows(path, DatasetConfig(skip_empty_rows=True))] == ["a", "b"]
    assert "a.csv: 3 empty row(s) are left out" in caplog.text
    unlabelled = list(stream_rows(path, DatasetConfig(skip_empty_rows=True), with_labels=False))
    assert len(unlabelled) == 5, "each has an answer"
    lines = write("a.jsonl", '{"text": "a", "label": "x"}\n{"text": null, "label": ""}\n{}\n')
    assert len(read_rows(lines, DatasetConfig(skip_empty_rows=True))) == 1
    lines = write("b.jsonl", '{"text": "a", "label": "x"}\n{"sentence": "b", "label": ""}\n')
    with pytest.raises(ValueError, match="line 2 has no column 'text'"):
        read_rows(lines, DatasetConfig(skip_empty_rows=True))


@pytest.mark.parametrize(
    ("name", "content", "sentences"),
    [
        (
            "a.tsv",
            'text\tlabel\n"line one\nline two"\tneg\nfine\tpos\n',
            [
                "line 2: 1 columns where 2",
                "TSV is read without quoting",
                "end its name in .csv",
                "--override=dataset.file_format=csv",
            ],
        ),
        ("a.tsv", "text\tlabel\n1\ta\tb\n2\tc\td\n", ["line 2: 3 columns", "row.names=FALSE"]),
        ("a.csv", "'text','label'\n'a','b'\n", ["has no column 'text'", "CSV reads double ones"]),
        ("a.csv", "text,label\n'a, b',x\n", ["line 2: 3 columns", "Do single quotation marks", "quotechar"]),
        ("a.tsv", "__label__pos so good\n", ["has no column 'text'", "fastText's form"]),
        (
            "a.csv",
            "text,label\n'Twas late, he said,x\n",
            ["line 2: 3 columns", 'to stand in quotation marks: "one'],
        ),
        (
            "a.csv",
            "text,label\n" + "a, x\n" * 10 + 'b, "x, y"\n',
            ["line 12: 3 columns", "no cell of the first 10 rows", "skipinitialspace=True"],
        ),
        ("a.json", '{"data": [{"text": "a"}]}\n', ["has no column 'text'", "one object may hold all rows"]),
        (
            "a.json",
            '{"data": [{"paragraphs": []}]}\n',
            ["jq -c '.data[].paragraphs[] |", ".qas[] | {id, question"],
        ),
        ("a.json", '{"text": {"0": "a"}, "label": {"0": "b"}}\n', ["one object may hold all rows"]),
        (
            "a.csv",
            'text,label\na,"b\nc,d\n',
            ["line 2: a quotation mark opens a cell", "=tsv and dataset.delimiter=',' where", "or end"],
        ),
        ("a.csv", 'text,label\n"a" b,c\n"d",e\n"f" g,h\n', ["line 2: ", "(Also line 4.)", "are doubled"]),
        ("a.csv", "text,text,label\na,b,c\n", ["has 2 columns 'text'"]),
        ("a.json", '[{"text": "a"}]\n', ["is one JSON value over all its lines", "to_json"]),
        ("a.json", '{\n "text": "a"\n}\n', ["is one JSON value over all its lines"]),
        (
            "a.jsonl",
            '{"text": 1, "label": "a"}\nx\n[1]\n',
            ["line 1 has a JSON number", "line 2 ", "line 3: exp"],
        ),
        ("a.csv", "text,label\n", ["holds no rows"]),
    ],
)
def test_the_reason_is_named(write, name, content, sentences):
    message = "\n".join(message_of(write(name, content)))
    assert all(sentence in message for sentence in sentences), message


def test_a_file_without_header_and_labels_is_read(tmp_path):
    """MS MARCO's triples.train.small.tsv; labels are asked of tasks that have them."""
    path = tmp_path / "triples.tsv"
    path.write_text("a query\tan answer\tanother\nsecond query\tits answer\tno answer\n")
    names = ("text", "text_pair", "negative_1")
    dataset = DatasetConfig(text_pair="text_pair", negatives=("negative_1",), column_names=names)
    assert check_file("multiple_negatives_ranking", path, dataset).num_examples == 2
    with pytest.raises(MissingColumn, match="label"):
        check_file("sequence_classification", path, DatasetConfig(column_names=names))
