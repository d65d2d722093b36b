"""The tables of the pages are what the records say: names, dates and numbers."""

import json
import re

import pytest

from benchmarks import REPOSITORY
from benchmarks.figures import captions, formats, grids, marked_pages, pages, records, result_tables

RECORD = {
    "benchmark": "serving",
    "date": "2026-11-22",
    "machine": {"processor": "AMD EPYC", "cores": 2, "bfloat16": ["AVX512-BF16"]},
    "commit": "abc1234",
    "command": "python -m benchmarks.serving",
    "origin": "benchmark",
    "rows": {"a": {"ms": {"1": 7.31}, "n": 1}, "b": {"ms": {"1": 12.0}}},
}


@pytest.mark.parametrize("page", pages.pages_of_figures())
def test_the_tables_of_a_page_are_those_that_are_written(page):
    """Where this fails: python -m benchmarks.figures."""
    assert (REPOSITORY / page).read_text(encoding="utf-8") == pages.written_page(page)


def test_each_table_stands_on_one_page():
    texts = [(REPOSITORY / page).read_text(encoding="utf-8") for page in pages.pages_of_figures()]
    names = [name for text in texts for name in marked_pages.marked_names(text)]
    assert sorted(names) == sorted(pages.TABLES)


def test_every_record_is_whole_and_used():
    """All lines are checked, also those that a later one has replaced."""
    files = sorted(records.FOLDER.glob("*.jsonl"))
    shown = [record for table in pages.TABLES.values() for record in table()[1]]
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            last = records.last_record(file.stem, record.get("task"))
            assert last in shown, f"{file.name}: no table shows {record.get('task') or 'it'}"


@pytest.mark.parametrize(
    ("label", "name", "precision", "written"),
    [
        ("CPU, float32", "training_step_bert_base", "float32", "{:.1f} s".format),
        ("CPU with AMX, bfloat16", "training_step_bert_base_bfloat16", "bfloat16", "{:.2f} s".format),
    ],
)
def test_the_rows_of_the_readme_beside_other_libraries_are_those_of_the_records(
    label, name, precision, written
):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (cells,) = re.findall(rf"^\| pretraining step, BERT-base, {label} \|(.*)\|$", text, re.MULTILINE)
    record = records.last_record(name)
    systems = ("kbert", "hugging_face", "keras_hub", "model_garden")
    seconds = [records.figure(record, f"{system}/{precision}", "seconds") for system in systems]
    assert [cell.strip() for cell in cells.split("|")] == [
        *(written(value).removeprefix("0") for value in seconds),
        "not measured",
    ]


def test_what_is_written_by_hand_repeats_the_records():
    """docs/measured.md, whose table nothing writes."""
    text = (REPOSITORY / "docs" / "measured.md").read_text(encoding="utf-8")
    said = []
    for name, rows in (
        ("training_step_bert_mini", ("kbert", "keras_hub", "model_garden", "hugging_face")),
        ("training_step_bert_base", ("kbert", "model_garden", "hugging_face")),
    ):
        record = records.last_record(name)
        said += [f"{formats.two(records.figure(record, f'{row}/float32', 'seconds'))} s" for row in rows]
    for name, row in (("sst2", "float32"), ("mrpc", "float32"), ("sst2_bfloat16", "bfloat16")):
        rate = records.figure(
            records.last_record(f"finetuning_{name}"), f"kbert/{row}", "examples_per_second"
        )
        said.append(f"{formats.fixed(rate).removesuffix('.0')} examples/s")
    served = records.figure(records.last_record("serving_minilm"), "kbert/bfloat16", "medians")
    said.append("{} / {} / **{} ms**".format(*map(formats.fixed, served.values())))
    assert [one for one in said if one not in text] == []


def test_a_page_keeps_all_but_what_is_marked():
    text = "a\n\n<!-- figures: one -->\n\n| old |\n\n<!-- end -->\nb <!-- figures --> c\n"
    expected = "a\n\n<!-- figures: one -->\n\nnew of one\n\n<!-- end -->\nb <!-- figures --> c\n"
    assert marked_pages.written(text, lambda name: f"new of {name}\n") == expected
    assert marked_pages.written(expected, lambda name: f"new of {name}\n") == expected


@pytest.mark.parametrize("text", ["<!-- figures: one -->\n| a |\n", "<!-- figures: a b -->\n<!-- end -->\n"])
def test_a_mark_that_is_not_whole_is_refused(text):
    with pytest.raises(ValueError, match="a mark is not whole; expected lines"):
        marked_pages.written(text, str)


def test_a_grid_shows_numbers_and_the_best():
    columns = (
        grids.Column("ms", formats.fixed, (("ms", "1"),), best="min"),
        grids.Column("n", formats.whole, (("n",),), may_lack=True),
    )
    rows = [grids.Row("A", RECORD, "a"), grids.Row("B", RECORD, "b")]
    assert grids.grid("", columns, rows) == [
        "| | ms | n |",
        "|---|---:|---:|",
        "| A | **7.3** | 1 |",
        "| B | 12.0 | |",
    ]
    with pytest.raises(ValueError, match=r"c ms 1 is not among the figures of .*; its rows are a, b\."):
        grids.grid("", columns, [grids.Row("C", RECORD, "c")])


@pytest.mark.parametrize(
    ("show", "value", "text"),
    [
        (formats.bare, 0.771, ".771"), (formats.bare, 4.828, "4.828"), (formats.two, 10.62, "10.62"),
        (formats.whole, 1126.4, "1,126"), (formats.fixed, 1594.2, "1,594.2"), (formats.percent, 1, "100 %"),
        (formats.percent, 0.9776, "97.8 %"), (formats.percent2, 0.99312, "99.31 %"),
        (formats.difference, 7.3e-7, "7e-7"), (formats.difference, 0.0081, ".008"),
        (formats.difference, 0.41, ".4"), (formats.difference, 0, ""),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_pages_do(show, value, text):
    assert show(value) == text


def test_a_caption_names_dates_machines_and_what_was_written_by_hand():
    other = RECORD | {"date": "2026-11-20", "commit": "def5678", "origin": "docs"}
    unknown = RECORD | {"machine": None, "commit": None}
    assert " ".join(captions.caption([RECORD, other])) == (
        "2026-11-20 to 2026-11-22 (def5678, abc1234), AMD EPYC, 2 cores, AVX512-BF16. "
        "In part written down by hand."
    )
    assert captions.caption([RECORD], with_commits=False) == ["2026-11-22, AMD EPYC, 2 cores, AVX512-BF16."]
    assert captions.caption([unknown]) == ["2026-11-22, machine not recorded."]
    assert max(map(len, captions.caption([RECORD, other, unknown]))) <= 119


def test_the_last_line_of_a_file_counts_for_each_task(tmp_path):
    lines = [
        RECORD | {"task": task, "commit": commit} for task, commit in (("a", "1"), ("b", "2"), ("a", "3"))
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert records.last_record("x", "a", tmp_path)["commit"] == "3"
    assert records.last_record("x", "b", tmp_path)["commit"] == "2"
    with pytest.raises(ValueError, match=r"x.jsonl holds no record of c; measure and append one\."):
        records.last_record("x", "c", tmp_path)
    with pytest.raises(ValueError, match=r"y.jsonl does not exist; measure with --figures_file"):
        records.last_record("y", None, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"date": "yesterday"}, "line 1 has the date 'yesterday'; expected one such as"),
        ({"machine": {"processor": "x"}}, "line 1, machine has cores=None; expected"),
        ({"rows": {}}, "line 1 has no rows"),
        ({"command": 3}, "line 1 has command=3; expected"),
    ],
)
def test_a_record_that_is_not_whole_is_named_with_its_line(tmp_path, change, message):
    (tmp_path / "x.jsonl").write_text(json.dumps(RECORD | change) + "\n")
    with pytest.raises(ValueError, match=message):
        records.last_record("x", None, tmp_path)


def test_a_score_that_a_record_lacks_is_named():
    record = {"task": "cola", "rows": {"kbert": {"f1": 0.5934}}}
    assert result_tables.filled(record, "F1 {k[f1]}") == ["F1 .593"]
    with pytest.raises(ValueError, match="the record of cola has no figure 'accuracy'"):
        result_tables.filled(record, "{h[accuracy]}")
