"""Hard negatives by the rules of sentence-transformers, beside a search in plain loops."""

import gzip
import json
import math
import random
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from kbert.experiments.retrieval import evaluation
from kbert.experiments.retrieval import hard_negatives as mining
from kbert.experiments.retrieval.retrievers import RerankingRetriever, VectorRetriever
from kbert.experiments.retrieval.search import Best
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from tests.kbert.experiments.retrieval.vectors_of_letters import LetterVectors
from tests.kbert.input_pipelines.tables.written_tables import write_parquet

RNG = random.Random(3)


def text(letters="abcdefghij"):
    return "".join(RNG.choices(letters, k=RNG.randint(4, 12)))


PAIRS = [(query, text(query + "a")) for query in (text() for _ in range(8))]
PAIRS += [(PAIRS[0][0], text()), (PAIRS[1][0], PAIRS[1][0] + "j")]
CORPUS = [text() for _ in range(40)] + [PAIRS[2][0]]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(mining, "make_retriever", lambda model, **_: VectorRetriever(model))
    monkeypatch.setattr(mining, "as_loaded", lambda model, *_: model)
    rows = (json.dumps({"text": query, "text_pair": positive}) for query, positive in PAIRS)
    (tmp_path / "pairs.jsonl").write_text("".join(f"{row}\n" for row in rows))
    rows = (json.dumps({"_id": str(n), "text": text}) for n, text in enumerate(CORPUS))
    (tmp_path / "corpus.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return tmp_path / "pairs.jsonl", tmp_path / "rows.jsonl", tmp_path / "corpus.jsonl"


def mine(files, **settings):
    pairs, output, corpus = files
    number = mining.hard_negatives(LetterVectors(), pairs, output, corpus_file=corpus, **settings)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(rows) == number
    return rows


def by_loops(query, number, skipped, margin, cross_encoder=None):
    """The best texts that are no positives of the query and not too like it."""
    model, texts = LetterVectors(), list(dict.fromkeys([positive for _, positive in PAIRS] + CORPUS))
    own = [positive for other, positive in PAIRS if other == query]
    scores = dict(zip(texts, model.similarity(model.embed([query]), model.embed(texts))[0], strict=True))
    if cross_encoder:
        scores = {answer["text"]: answer["score"] for answer in cross_encoder.rank(query, texts)}
    worst = min(scores[positive] for positive in own)
    limit = np.inf if margin is None else worst - abs(worst) * margin
    wrong = [one for one in texts if one not in (query, *own) and scores[one] <= limit]
    return sorted(wrong, key=lambda one: -scores[one])[skipped : skipped + number], scores


@pytest.mark.parametrize("number, skipped, margin", [(1, 0, None), (3, 2, 0.05), (2, 0, 0.3)])
def test_negatives_are_the_nearest_that_the_rules_allow(files, number, skipped, margin):
    rows = mine(files, num_negatives=number, range_min=skipped, range_max=60, relative_margin=margin)
    expected = {query: by_loops(query, number, skipped, margin) for query, _ in PAIRS}
    assert [row["text"] for row in rows] == [q for q, _ in PAIRS if len(expected[q][0]) == number]
    for row in rows:
        chosen, scores = expected[row["text"]]
        found = [row[f"negative_{n}"] for n in range(1, number + 1)]
        assert [scores[one] for one in found] == pytest.approx([scores[one] for one in chosen], abs=1e-6)
        assert "scores" not in row, "cosines teach no ranking"


def test_how_a_model_is_read_is_passed_on(files, monkeypatch):
    monkeypatch.undo()
    for reading in ({"checkpoint": "best"}, {"do_lower_case": True}, {"allow_unmatched": "pooling"}):
        with pytest.raises(ValueError, match="are of a model, and BM25 is none"):
            mining.hard_negatives("bm25", *files[:2], **reading)


def test_pairs_in_a_file_of_no_format_are_told_the_endings(files):
    with pytest.raises(ValueError, match=r"pairs.rows: cannot tell the format .* in .jsonl or .tsv.$"):
        mining.hard_negatives(LetterVectors(), files[0].rename(files[0].with_suffix(".rows")), files[1])


def test_rows_are_packed_as_the_name_says(files):
    mine(files)
    packed = files[1].with_name("rows.ndjson.gz")
    mining.hard_negatives(LetterVectors(), files[0], packed, corpus_file=files[2])
    assert gzip.decompress(packed.read_bytes()) == files[1].read_bytes()


def test_the_positives_of_a_query_are_those_of_its_other_spellings(files):
    query, positive = PAIRS[3]
    with open(files[0], "a") as pairs:
        pairs.write(json.dumps({"text": query.upper(), "text_pair": "abcde"}) + "\n")
    rows = mine(files, num_negatives=40, relative_margin=None)
    for row in rows:
        if row["text"] in (query, query.upper()):
            assert {"abcde", positive}.isdisjoint(row[f"negative_{n}"] for n in range(1, 41))
    assert rows[-1]["text"] == query.upper()


@pytest.mark.parametrize("skipped", [0, 2])
def test_the_range_does_not_count_positives(files, skipped):
    settings = {"num_negatives": 1, "range_min": skipped, "range_max": skipped + 1, "relative_margin": None}
    rows = mine(files, **settings, sampling_strategy="random")
    assert len(rows) == len(PAIRS)
    for row in rows:
        ((nearest,), scores) = by_loops(row["text"], 1, skipped, None)
        assert scores[row["negative_1"]] == pytest.approx(scores[nearest], abs=1e-6)


def test_a_cross_encoder_has_the_last_word(files):
    rows = mine(files, num_negatives=2, range_max=60, relative_margin=0.05, cross_encoder=LetterVectors())
    for row in rows:
        chosen, scores = by_loops(row["text"], 2, 0, 0.05, LetterVectors())
        assert row["scores"][1:] == [scores[one] for one in chosen]


def test_a_query_of_many_positives_makes_no_other_query_read_more(files):
    judge, read = LetterVectors(), {}
    judge.rank = lambda query, texts, **_: (
        read.update({query: len(texts)}) or LetterVectors().rank(query, texts)
    )
    with open(files[0], "a") as pairs:
        for number in range(30):
            pairs.write(json.dumps({"text": PAIRS[3][0], "text_pair": f"{PAIRS[3][0]}{number}"}) + "\n")
    mine(files, num_negatives=1, cross_encoder=judge)
    # Ten for the negative, twice the positive in its two forms, and the positive where it was not found.
    assert read[PAIRS[3][0]] > 30 and read[PAIRS[4][0]] <= 10 + 2 + 2 + 1


@pytest.mark.parametrize("finds_itself", [False, True])
def test_a_cross_encoders_own_numbers_are_written_and_its_activation_chooses(
    files, monkeypatch, finds_itself
):
    judge = LetterVectors()
    task = SequenceRegression(takes_pairs=True, activation="sigmoid")
    judge.task = SimpleNamespace(serving=task.serving)
    judge.rank = lambda query, texts, raw_scores=True: [
        answer | {"score": 2 + answer["score"] / 2} for answer in LetterVectors().rank(query, texts)
    ]
    if finds_itself:
        retriever = RerankingRetriever(judge, VectorRetriever(LetterVectors()))
        monkeypatch.setattr(mining, "make_retriever", lambda model, **_: retriever)
    named = {} if finds_itself else {"cross_encoder": judge}
    rows = mine(files, num_negatives=2, range_max=60, relative_margin=0.05, **named)
    of_sigmoids = LetterVectors()
    of_sigmoids.rank = lambda query, texts: [
        answer | {"score": 1 / (1 + math.exp(-answer["score"]))} for answer in judge.rank(query, texts)
    ]
    for row in rows:
        chosen, scores = by_loops(row["text"], 2, 0, 0.05, of_sigmoids)
        assert [scores[row[f"negative_{n}"]] for n in (1, 2)] == pytest.approx(
            [scores[one] for one in chosen]
        )
        own = [row["text_pair"], row["negative_1"], row["negative_2"]]
        assert row["scores"] == [2 - abs(len(row["text"]) - len(one)) / 2 for one in own]
    assert rows


def test_a_cross_encoder_scores_positives_that_its_first_retriever_misses(files, monkeypatch):
    class Misses(VectorRetriever):
        def find(self, queries, texts, k):
            own = {positive for _, positive in PAIRS}
            best = Best(len(queries), len(texts))
            found = [text not in own for text in texts]
            best.add(np.where(found, np.ones((len(queries), 1)), -np.inf), np.arange(len(texts)))
            return best

    retriever = RerankingRetriever(LetterVectors(), Misses(LetterVectors()))
    monkeypatch.setattr(mining, "make_retriever", lambda model, **_: retriever)
    rows = mine(files, num_negatives=1, range_max=60, relative_margin=0.05)
    assert rows
    for row in rows:
        scores = {answer["text"]: answer["score"] for answer in LetterVectors().rank(row["text"], [*CORPUS])}
        positive, negative = row["scores"]
        assert negative == scores[row["negative_1"]] <= positive - abs(positive) * 0.05


def test_a_positive_in_another_form_is_no_negative(files):
    positives = {query: {own for other, own in PAIRS if other == query} for query, _ in PAIRS}
    copies = [{"_id": f"t{n}", "title": "Of", "text": own} for n, (_, own) in enumerate(PAIRS)]
    copies += [{"_id": f"c{n}", "text": f" {own}\n"} for n, (_, own) in enumerate(PAIRS)]
    copies += [{"_id": f"q{n}", "text": query + " "} for n, query in enumerate(positives)]
    with open(files[2], "a") as corpus:
        corpus.writelines(f"{json.dumps(row)}\n" for row in copies)
    for row in mine(files, num_negatives=5, relative_margin=None):
        bare = {row[f"negative_{n}"].removeprefix("Of ").strip() for n in range(1, 6)}
        assert bare.isdisjoint({row["text"], *positives[row["text"]]})


@pytest.mark.parametrize("form", ["cafe\u0301 {}", "ca\u00adfé {}", "CAFÉ\u200b {}"])
def test_a_positive_in_another_form_of_unicode_is_no_negative(files, form):
    """All 20 rows of texts in NFC beside a corpus in NFD had their own positive as the negative."""
    for path, rows in (
        (files[0], [{"text": letter, "text_pair": f"café {letter}"} for letter in "abcdefgh"]),
        (files[2], [{"_id": letter, "text": form.format(letter)} for letter in "abcdefgh"]),
    ):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for row in mine(files, num_negatives=7, relative_margin=None):
        assert row["text_pair"] == form.format(row["text"]), "as the corpus has it"
        assert {row[f"negative_{n}"][-1] for n in range(1, 8)} == {*"abcdefgh"} - {row["text"]}


def test_negatives_that_stand_in_the_pairs_are_said(files, caplog):
    with open(files[0], "a") as pairs:
        pairs.write(json.dumps({"text": "abc", "text_pair": "xyz", "negative": "abd"}) + "\n")
    mine(files)
    assert "pairs.jsonl has 'negative', which is not read" in caplog.text


def test_a_document_is_one_text_with_its_title(files, caplog):
    documents = {"a cab": "Taxi", "a bad face": "Mask", "big dad": "Father"}
    rows = [{"text": query, "text_pair": own} for query, own in zip(("ab", "fa"), documents, strict=False)]
    rows += [{"text": "dab", "text_pair": own} for own in ("a cab", "big dad")]
    files[0].write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    rows = [{"_id": title, "title": title, "text": text} for text, title in documents.items()]
    rows += [{"_id": "again", "title": "FATHER", "text": "big  dad"}]
    files[2].write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    first, second = mine(files, num_negatives=2, relative_margin=None)
    assert (first["text_pair"], second["text_pair"]) == ("Taxi a cab", "Mask a bad face")
    for row, other in ((first, second), (second, first)):
        negatives = {row["negative_1"].casefold(), row["negative_2"].casefold().replace("  ", " ")}
        assert negatives == {other["text_pair"].casefold(), "father big dad"}
    assert "2 of 4 pairs have fewer than 2 negatives; left out. A larger range_max" in caplog.text
    assert "relative_margin" not in caplog.text
    with pytest.raises(ValueError, match="no pair has 3 negatives"):
        mine(files, num_negatives=3, relative_margin=None, overwrite=True)


def test_two_cross_encoders_are_refused(files, monkeypatch):
    retriever = RerankingRetriever(LetterVectors(), VectorRetriever(LetterVectors()))
    monkeypatch.setattr(mining, "make_retriever", lambda model, **_: retriever)
    with pytest.raises(ValueError, match="is a cross-encoder, as cross_encoder=.* leave the other out"):
        mine(files, cross_encoder=LetterVectors())


def test_a_model_that_ranks_nothing_is_refused_before_the_search(files, monkeypatch):
    def refuse(query, texts):
        raise ValueError("rank takes a model that gives a number")

    judge = LetterVectors()
    judge.rank = refuse
    monkeypatch.setattr(VectorRetriever, "find", None)
    with pytest.raises(ValueError, match="rank takes"):
        mine(files, cross_encoder=judge)


def test_random_ones_depend_on_the_seed_alone(files):
    settings = {"num_negatives": 2, "relative_margin": None, "range_max": 20, "sampling_strategy": "random"}
    first, again, other = (mine(files, **settings, seed=seed, overwrite=True) for seed in (1, 1, 2))
    assert first == again != other


def test_an_empty_text_is_no_negative_and_no_pair(files):
    with open(files[2], "a") as corpus:
        corpus.write('{"_id": "empty", "text": " "}\n')
    for row in mine(files, num_negatives=40, relative_margin=None):
        assert all(row[f"negative_{n}"].strip() for n in range(1, 41))
    with open(files[0], "a") as pairs:
        pairs.write('{"text": "abc", "text_pair": ""}\n')
    with pytest.raises(ValueError, match="1 pairs have an empty text"):
        mine(files, overwrite=True)


@pytest.mark.parametrize("name", ["run_dir", "cross_encoder"])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_no_file_of_a_model_is_replaced(files, tmp_path, name, is_loaded):
    for file in ("run.json", "metrics.jsonl"):
        (tmp_path / file).touch()
    model = SimpleNamespace(source=str(tmp_path)) if is_loaded else tmp_path
    models = {"run_dir": LetterVectors(), "cross_encoder": None} | {name: model}
    with pytest.raises(ValueError, match="metrics.jsonl is the input .* which would be lost"):
        mining.hard_negatives(
            pairs_file=files[0], output_file=tmp_path / "metrics.jsonl", overwrite=True, **models
        )


@pytest.mark.parametrize("column", ["label", "is_duplicate"])
def test_labelled_pairs_are_refused(files, column):
    with open(files[0], "a") as pairs:
        pairs.write(json.dumps({"text": "abc", "text_pair": "xyz", column: 0}) + "\n")
    with pytest.raises(ValueError, match=rf"line \d+ has a column '{column}'.* without this column"):
        mine(files)
    rows = pa.table({"text": ["abc"], "text_pair": ["xyz"], column: [0]})
    table = write_parquet(files[0].with_suffix(".parquet"), rows)
    with pytest.raises(ValueError, match=f"row 1 has a column '{column}'"):
        mine((table, *files[1:]))
    for split in ("train", "test"):
        write_parquet(table.with_name(f"{split}-0.parquet"), rows)
    with pytest.raises(ValueError, match="files of several splits"):
        mine((table.with_name("t*-0.parquet"), *files[1:]))


def test_a_header_in_files_that_were_joined_is_no_pair(files):
    path = files[0].with_suffix(".tsv")
    path.write_text("text\ttext_pair\nabc\tabd\n" * 2)
    with pytest.raises(ValueError, match="line 3 repeats the header"):
        mine((path, *files[1:]))


def test_columns_of_other_names_are_named_by_what_the_command_has(files):
    files[0].write_text('{"query": "abc", "positive": "abd"}\n')
    with pytest.raises(ValueError, match="no column 'text'.*(\n.*)*--text, --text_pair"):
        mine(files)
    files[0].write_text('{"query": "abc", "positive": "abd"}\n' * 2)
    mine(files, text="query", text_pair="positive", num_negatives=1, relative_margin=None)


def test_what_leaves_nothing_is_refused(files):
    with pytest.raises(ValueError, match="range_max"):
        mine(files, num_negatives=5, range_max=4)
    with pytest.raises(ValueError, match="num_negatives=0 must be at least 1"):
        mine(files, num_negatives=0)
    with pytest.raises(ValueError, match="relative_margin=-1 must be at least 0"):
        mine(files, relative_margin=-1)
    with pytest.raises(ValueError, match="sampling_strategy='best' is not known; choose one of top, random"):
        mine(files, sampling_strategy="best")
    with pytest.raises(ValueError, match='seed=3 is for sampling_strategy="random"'):
        mine(files, seed=3)
    with pytest.raises(ValueError, match="must end in .jsonl"):
        mining.hard_negatives("bm25", files[0], files[0].with_name("rows.csv"))
    with pytest.raises(ValueError, match="no pair has"):
        mine(files, num_negatives=1, relative_margin=5.0)
    assert not files[1].exists()


def test_retrievers_know_bm25():
    pytest.importorskip("bm25s")
    assert type(evaluation.make_retriever("bm25")).__name__ == "Bm25Retriever"
