"""Collections in BEIR's files: equal texts are one, and what is wrong is named at once."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kbert.experiments.retrieval.collection import read_collection
from kbert.experiments.retrieval.failures import failing_queries
from kbert.experiments.retrieval.search import Best, scores_of_queries
from tests.kbert.input_pipelines.tables.written_tables import every_kind

CRANFIELD = Path(__file__).resolve().parents[5] / "shared" / "data" / "cranfield"
CORPUS = [
    {"_id": "d1", "title": "Wings", "text": "of a plane"},
    {"_id": "d2", "text": "a car"},
    {"_id": "d3", "title": "", "text": "Wings of a plane"},
]
QUERIES = [
    {"_id": "q1", "text": "what flies"},
    {"_id": 2, "text": "what rolls"},
    {"_id": "q3", "text": "other"},
]
QRELS = ["query-id\tcorpus-id\tscore", "q1\td1\t1", "q1\td3\t2", "q1\td2\t0", "2\td2\t1"]


def write(folder, corpus=CORPUS, queries=QUERIES, qrels=QRELS):
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    (folder / "qrels.tsv").write_text("".join(f"{line}\n" for line in qrels))
    return folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels.tsv"


def test_equal_texts_are_one_and_their_best_gain_counts(tmp_path):
    found = read_collection(*write(tmp_path))
    assert found.texts == ["Wings of a plane", "a car"] and found.text_ids == ["d1", "d2"]
    assert found.queries == ["what flies", "what rolls"] and found.query_ids == ["q1", "2"]
    assert found.judgments == [{0: 2.0}, {1: 1.0}]


def test_of_a_pair_that_is_judged_twice_the_last_score_counts_as_in_beir(tmp_path, caplog):
    again = ["q1\td3\t1", "q1\td2\t0", "2\td2\t3"]
    found = read_collection(*write(tmp_path, qrels=[*QRELS, *again]))
    assert found.judgments == [{0: 1.0}, {1: 3.0}]
    assert "2 pairs stand there again with another score (q1 d3, 2 d2); the last" in caplog.text
    with pytest.raises(ValueError, match="1 queries have no text with a score above 0: 2;"):
        read_collection(*write(tmp_path, qrels=[*QRELS, "2\td2\t0"]))


def test_relevant_texts_that_the_corpus_lacks_are_not_found_and_count(tmp_path, caplog):
    found = read_collection(*write(tmp_path, qrels=[*QRELS, "q1\td9\t1", "q3\td8\t1"]))
    assert found.judgments == [{0: 2.0, 2: 1.0}, {1: 1.0}, {3: 1.0}]
    assert len(found.texts) == 2 and found.text_ids == ["d1", "d2", "d9", "d8"]
    assert "qrels.tsv: 2 relevant texts are no _id in" in caplog.text
    assert "('d9', 'd8'); as in" in caplog.text
    best = Best(3, 2, found.own_texts, found.judgments)
    best.add(np.array([[2, 1], [1, 2], [1, 1]]), np.arange(2))
    every = scores_of_queries(best, found.judgments)
    assert [scores["recall_at_10"] for scores in every] == [0.5, 1.0, 0.0]
    cards = failing_queries(found, best, every)[0].content.cards
    assert "(not in the corpus)" in str(cards[0])


def test_texts_that_are_judged_and_not_relevant_need_not_be_there(tmp_path, caplog):
    """Most judgments of TREC are 0, and most of those texts are missing where a corpus was cut."""
    files = write(tmp_path, qrels=[*QRELS, *(f"q1\tx{number}\t0" for number in range(9))])
    assert read_collection(*files) == read_collection(*write(tmp_path)) and not caplog.text


def test_judgments_have_quotation_marks_as_beir_writes_them(tmp_path, caplog):
    corpus = [{"_id": '<dbpedia:"Heroes"_(album)>', "text": "an album"}, *CORPUS]
    files = write(tmp_path, corpus, qrels=[*QRELS, 'q1\t<dbpedia:"Heroes"_(album)>\t3'])
    expected = read_collection(*files)
    assert expected.judgments[0][0] == 3.0
    with open(files[2], "w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(
            line.split("\t") for line in [*QRELS, 'q1\t<dbpedia:"Heroes"_(album)>\t3']
        )
    assert '"<dbpedia:""Heroes""_(album)>"' in files[2].read_text()
    assert read_collection(*files) == expected and not caplog.text


def test_ids_may_begin_with_a_quotation_mark_of_their_own(tmp_path):
    """As DBpedia's do, written by cut or awk."""
    corpus = [{"_id": '"Weird_Al"_Yankovic', "text": "a singer"}, *CORPUS]
    found = read_collection(*write(tmp_path, corpus, qrels=[*QRELS, 'q3\t"Weird_Al"_Yankovic\t1']))
    assert found.judgments[2] == {0: 1.0}


def test_without_scores_each_text_is_relevant_as_in_nano_beir(tmp_path):
    bare = [line.rsplit("\t", 1)[0] for line in QRELS]
    files = write(tmp_path, qrels=bare)
    expected = read_collection(*files)
    assert expected.judgments == [{0: 1.0, 1: 1.0}, {1: 1.0}]
    rows = [{"query-id": "q1", "corpus-id": ["d1", "d3", "d2"]}, {"query-id": "2", "corpus-id": ["d2"]}]
    for number, table in enumerate((rows, [dict(zip(*pair, strict=True)) for pair in _named(bare)])):
        (folder := tmp_path / str(number)).mkdir()
        for path in every_kind(folder, pa.Table.from_pylist(table)).values():
            assert read_collection(*files[:2], path) == expected
    graded = [row | {"relevance": 0} for row in rows]
    parquet.write_table(pa.Table.from_pylist(graded), tmp_path / "graded.parquet")
    with pytest.raises(ValueError, match="no column 'score'"):
        read_collection(*files[:2], tmp_path / "graded.parquet")


def _named(lines):
    header, *rows = (line.split("\t") for line in lines)
    return [(header, row) for row in rows]


def test_a_query_is_its_own_text_whatever_its_blanks_and_capitals(tmp_path):
    corpus = [*CORPUS, {"_id": "q1", "text": "What  flies \n"}, {"_id": "q3", "text": "others"}]
    found = read_collection(*write(tmp_path, corpus=corpus, qrels=[*QRELS, "q3\td2\t1"]))
    assert found.own_texts == [2, -1, -1]


def test_empty_texts_are_said(tmp_path, caplog):
    found = read_collection(*write(tmp_path, corpus=[*CORPUS, {"_id": "d4", "text": ""}]))
    assert found.texts[-1] == "" and "1 texts are empty (line 4)" in caplog.text


def test_lines_of_other_systems_and_empty_ones_are_read(tmp_path):
    files = write(tmp_path)
    expected = read_collection(*files)
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert read_collection(*files) == expected


def test_tables_are_read_as_lines(tmp_path):
    queries = [{"_id": str(row["_id"]), "text": row["text"]} for row in QUERIES]
    names, *lines = (line.split("\t") for line in QRELS)
    judgments = [dict(zip(names, (query, text, int(score)), strict=True)) for query, text, score in lines]
    tables = []
    for number, rows in enumerate((CORPUS, queries, judgments)):
        folder = tmp_path / str(number)
        folder.mkdir()
        tables.append(every_kind(folder, pa.Table.from_pylist(rows)))
    expected = read_collection(*write(tmp_path))
    for kind in tables[0]:
        assert read_collection(*(paths[kind] for paths in tables)) == expected, kind


WRONG = {
    "another corpus": (
        {"qrels": [QRELS[0], "q1\td1\t1", "q1\td8\t1", "q1\td9\t2"]},
        ["qrels.tsv: 2 of the 3 relevant texts", "corpus.jsonl ('d8', 'd9')"],
    ),
    "an unknown query": ({"qrels": [*QRELS, "q9\td1\t1"]}, ["line 6", "'q9'", "queries.jsonl"]),
    "a query without positives": ({"qrels": [*QRELS, "q3\td1\t0"]}, ["q3", "above 0"]),
    "no number": ({"qrels": [*QRELS, "q3\td1\tyes"]}, ["line 6", "yes"]),
    "no finite number": ({"qrels": [*QRELS, "q1\td2\tinf"]}, ["line 6", "'inf'"]),
    "a number to Python alone": ({"qrels": [*QRELS, "q1\td2\t1_0"]}, ["line 6", "'1_0'"]),
    "two lines": ({"corpus": [*CORPUS, "{", {"_id": "d4", "text": None}]}, ["line 4", "line 5"]),
    "no header": ({"qrels": QRELS[1:]}, ["first line", "query-id, corpus-id, score"]),
    "scores by another name": (
        {"qrels": ["query-id\tcorpus-id\trelevance", "q1\td1\t0"]},
        ["no column 'score'", "'relevance'", "columns query-id, corpus-id, score"],
    ),
    "TREC's form": ({"qrels": ["q1 0 d1 1"]}, ["TREC's files", "first line", "column of zeros"]),
    "no judgments": ({"qrels": QRELS[:1]}, ["qrels.tsv holds no rows"]),
    "an id twice": ({"corpus": [*CORPUS, CORPUS[0]]}, ["line 4", "'d1'"]),
    "no text": ({"queries": [*QUERIES, {"_id": "q4"}]}, ["line 4", "'text'"]),
    "no id": ({"queries": [*QUERIES, {"text": "x"}]}, ["line 4", "'_id'"]),
    "ids by another name": ({"queries": [{"id": "q1", "text": "x"}]}, ["'_id'", "'id'", "columns _id, text"]),
    "a title that is a number": ({"corpus": [{"_id": "d1", "title": 1, "text": "x"}]}, ["line 1", "title"]),
    "no texts": ({"corpus": []}, ["corpus.jsonl holds no rows"]),
}


@pytest.mark.parametrize(("changes", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named(tmp_path, changes, words):
    with pytest.raises(ValueError) as error:
        read_collection(*write(tmp_path, **changes))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.skipif(not CRANFIELD.exists(), reason="no shared data: cranfield")
def test_cranfield():
    names = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
    found = read_collection(*(CRANFIELD / name for name in names))
    assert len(found.queries) == 225 and sum(map(len, found.judgments)) <= 1612


def test_a_name_without_a_format_is_told_the_endings(tmp_path):
    corpus, queries, qrels = write(tmp_path)
    with pytest.raises(ValueError, match=r"qrels.trec: cannot tell the format .* in .jsonl or .tsv.$"):
        read_collection(corpus, queries, qrels.rename(tmp_path / "qrels.trec"))
