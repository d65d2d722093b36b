"""Files, settings and trainings of sentence similarity: what is read, what is refused with which words."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig, DistillationConfig, FinetuningConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from kbert.tasks.sequences.number_files import NumberFiles
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.similarity.text_groups import PositiveFiles, TaughtGroup, TextGroup, text_numbers
from kbert.tasks.task import Predictions
from kbert.tokenization.text_inputs import TextInputs
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.input_pipelines.tables.written_tables import every_kind
from tests.tfrecords_tools import small_corpus

PAIRS = DatasetConfig(text="a", text_pair="b", label="score")
TRIPLETS = DatasetConfig(text="a", text_pair="b", negatives=("n",), label="score")


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_reranker_takes_rows_with_fewer_negatives(tmp_path, caplog):
    dataset = dataclasses.replace(TRIPLETS, negatives=("n", "m"))
    rows = [{"a": "x", "b": "y", "n": "z", "m": empty} for empty in ("", None, "w")]
    pairs = NumberFiles().read_examples(write(tmp_path / "rows.jsonl", *rows), dataset)
    assert [pair.text_pair for pair in pairs] == ["y", "z", "y", "z", "y", "z", "w"]
    assert not caplog.messages
    path = write(
        tmp_path / "nulls.jsonl", *({"a": "x", "b": "y", "n": "z", "m": cell} for cell in ("NULL", "w"))
    )
    assert len(list(NumberFiles().read_examples(path, dataset))) == 6
    assert "1 text(s) are what programs write where there is none, the first 'NULL'" in caplog.text
    stems = dataclasses.replace(TRIPLETS, negatives=("bm25_1", "bm25_2", "e5_1"), scores="s")
    row = {"a": "x", "b": "y", "bm25_1": "u", "bm25_2": "v", "e5_1": "w", "s": [4, 3, 2, 1]}
    (taught,) = LateInteraction.files.read_examples(write(tmp_path / "taught.jsonl", row), stems)
    assert taught.teacher_scores == (4, 3, 2, 1)


def test_pairs_with_scores_and_triplets_are_read(tmp_path):
    scored = write(tmp_path / "scored.jsonl", {"a": "x", "b": "y", "score": "2.5"})
    assert list(CosineSimilarity.files.read_examples(scored, PAIRS)) == [TextGroup(("x", "y"), 2.5)]
    assert list(MultipleNegativesRanking.files.read_examples(scored, TRIPLETS)) == [
        TextGroup(("x", "y"), 2.5)
    ]
    triplets = write(tmp_path / "triplets.jsonl", {"a": "x", "b": "y", "n": "z"})
    assert list(MultipleNegativesRanking.files.read_examples(triplets, TRIPLETS)) == [
        TextGroup(("x", "y", "z"), None)
    ]
    titled = write(tmp_path / "titles.jsonl", {"a": "x", "b": '("Yesterday")', "n": "['a'].join(b)"})
    assert len(list(MultipleNegativesRanking.files.read_examples(titled, TRIPLETS))) == 1
    unlabelled = CosineSimilarity.files.read_examples(scored, PAIRS, with_labels=False)
    assert list(unlabelled) == [TextGroup(("x", "y"), None)]


@pytest.mark.parametrize(
    ("task", "dataset", "row", "sentence"),
    [
        (CosineSimilarity, DatasetConfig(text="a"), {"a": "x"}, "dataset.text_pair is not set"),
        (CosineSimilarity, PAIRS, {"a": "x", "b": "y"}, "line 1 has no column 'score'"),
        (MultipleNegativesRanking, TRIPLETS, {"a": "x", "b": "y"}, "line 1 has no column 'n'"),
        (MultipleNegativesRanking, TRIPLETS, {"a": "x", "b": "y", "n": " "}, "line 1 has no text in 'n'"),
        (MultipleNegativesRanking, TRIPLETS, {"a": "x", "b": "y", "n": None}, "line 1 has no text in 'n'"),
        (
            LateInteraction,
            dataclasses.replace(TRIPLETS, negatives=("n_2", "n_1"), scores="s"),
            {"a": "x", "b": "y", "n_1": "v", "n_2": "w", "s": [3, 2, 1]},
            "list 'n_1' before those of higher numbers",
        ),
        (
            MultipleNegativesRanking,
            TRIPLETS,
            {"a": "x", "b": "y", "n": "y\u00ad "},
            "line 1: the positive 'y' is among its own negatives",
        ),
        (
            MultipleNegativesRanking,
            TRIPLETS,
            {"a": "A", "b": "B", "n": "N"},
            "repeats the header .'A', 'B', 'N'",
        ),
        *[
            (
                MultipleNegativesRanking,
                TRIPLETS,
                {"a": "x", "b": "y", "n": "z"} | row,
                "line 1 has .* of texts",
            )
            for row in ({"b": "['y', 'w']"}, {"n": '["z", "w"]'})
        ],
        (
            MultipleNegativesRanking,
            TRIPLETS,
            {"a": "x", "b": "y", "score": "entailment"},
            "set dataset.label to a name that no column has",
        ),
    ],
)
def test_rows_that_cannot_be_learnt_from(tmp_path, task, dataset, row, sentence):
    path = write(tmp_path / "file.jsonl", row)
    with pytest.raises(ValueError, match=sentence):
        list(task.files.read_examples(path, dataset))


def test_scores_become_cosines_and_missing_texts_empty_ones(caplog):
    inputs = TextInputs(small_corpus.vocabulary(), 8)
    signed = CosineSimilarity(lowest_score=-1.0, highest_score=1.0)
    assert signed.as_cosines(np.array([-1.0, 0.0, 0.25, 1.0])).tolist() == [-1.0, 0.0, 0.25, 1.0]
    task = CosineSimilarity(lowest_score=1.0, highest_score=5.0)
    rows = task.examples_to_features([TextGroup(("jump", "the a"), 4.0), TextGroup(("a", "a"), 1.0)], inputs)
    assert rows.features["targets"].tolist() == [0.75, 0.0]
    assert rows.features["input_ids"].shape == (2, 2, 8)
    # Each text is a sequence of its own.
    np.testing.assert_array_equal(rows.features["input_mask"][0].sum(axis=-1), [3, 4])
    assert not rows.features["segment_ids"].any()

    ranking = MultipleNegativesRanking(num_negatives=1)
    rows = ranking.examples_to_features(
        [TextGroup(("jump", "a"), 0.5), TextGroup(("a", "a", "the"), None)], inputs
    )
    assert rows.features["input_mask"][0].sum(axis=-1).tolist() == [3, 3, 2]
    assert rows.features["targets"][0] == 0.5 and np.isnan(rows.features["targets"][1])
    caplog.set_level("INFO", logger="absl")
    prompted = PoolingConfig(prompts={"own": "the a "}, default_prompt_name="own")
    own = MultipleNegativesRanking(num_negatives=3).with_pooling(prompted)
    rows = own.examples_to_features([TextGroup(("jump " * 9, "a"), 0.5)], inputs)
    assert rows.features["input_mask"][0].sum(axis=-1).tolist()[2:] == [2, 2, 2]
    assert "1 of 2 texts (50%) are longer than max_seq_length=8" in caplog.text


def test_the_page_says_what_its_numbers_are():
    columns = {"cosine": [0.5, 0.7], "targets": [0.64, 0.7], "num_tokens": [3, 3]}
    values = {name: np.array(column) for name, column in columns.items()}
    predictions = Predictions(values, np.arange(2))
    sections = CosineSimilarity(highest_score=5.0).page.example_sections(None, predictions, 5)
    assert sections[0].note.endswith(" right number. Numbers are cosines: the score 5 is 1.")


def test_a_score_outside_the_range_is_refused():
    with pytest.raises(
        ValueError, match="begins with 'c' has the score 4.2, which is not between lowest_score=0"
    ):
        CosineSimilarity().check_examples([TextGroup(("a", "b"), 1.0), TextGroup(("c", "b"), 4.2)], 8)


def few(number, score=None):
    return [TextGroup((f"query {place}", f"positive {place}"), score) for place in range(number)]


@pytest.mark.parametrize(
    ("changes", "examples", "sentence"),
    [
        ({"gradient_accumulation_steps": 2}, few(8), "gradient_accumulation_steps=2: the negatives of"),
        ({}, None, "records hold no texts; train from train_file"),
        ({}, few(8, 0.5), "training example 1 has a score .*takes the second text of every row as a"),
        (
            {},
            few(6) + few(1) * 2,
            "batch of 4: an epoch has 2 .* in 3 of the 8 training examples",
        ),
    ],
)
def test_trainings_without_the_negatives_of_whole_batches_are_refused(changes, examples, sentence):
    task, encoder = MultipleNegativesRanking(), tiny_encoder_config()
    task.check_training(FinetuningConfig(encoder=encoder, train_batch_size=4), few(7) + few(1))
    config = FinetuningConfig(encoder=encoder, train_batch_size=4, **changes)
    with pytest.raises(ValueError, match=sentence):
        task.check_training(config, examples)


def test_columns_of_a_table_that_are_not_read_are_said_as_those_of_lines(tmp_path, caplog):
    rows = [{"text": "a", "text_pair": "b", "negative": "c", "is_duplicate": 1}]
    for path in every_kind(tmp_path, pa.Table.from_pylist(rows)).values():
        caplog.clear()
        list(PositiveFiles().read_examples(path, DatasetConfig(text_pair="text_pair")))
        assert f"{path} has 'negative', which dataset.negatives=[] does not name" in caplog.text
        assert f"{path} has a column 'is_duplicate', which dataset.label='label'" in caplog.text


def test_no_positive_of_a_query_is_wrong_for_it(caplog):
    """Two rows of one query, and one whose negative is the first one's positive."""
    examples = [
        TextGroup(("query", "first", "x"), None),
        TextGroup(("query", "second", "y"), None),
        TextGroup(("other", "third", "second"), None),
        *(TextGroup(group.texts + ("z",), None) for group in few(3)),
    ]
    apart = MultipleNegativesRanking.files.texts_apart(examples)
    for seed in range(20):
        for batch in DistinctBatches(apart, 2).order(seed).reshape(3, 2).tolist():
            assert len({0, 1, 2}.intersection(batch)) < 2
    MultipleNegativesRanking.files.warn_of_contradictions(examples)
    assert not caplog.records
    MultipleNegativesRanking.files.warn_of_contradictions(
        [*examples, TextGroup(("other", "a", "third"), None)]
    )
    assert "1 negatives are positives of the same query" in caplog.text and "of the query" in caplog.text


def test_texts_that_read_alike_are_one_text(caplog):
    examples = [
        TextGroup(("What is it?", "first"), None),
        TextGroup(("what is  it?", "second"), None),
        TextGroup(("other", "First "), None),
        *few(1),
    ]
    apart = MultipleNegativesRanking.files.texts_apart(examples)
    assert apart[:3] == [("What is it?", "first"), ("What is it?", "second"), ("other", "first")]
    assert apart[3] == examples[3].texts
    numbers = text_numbers([example.texts for example in examples])
    assert numbers[0, 0] == numbers[1, 0] and numbers[0, 1] == numbers[2, 1] and len(set(numbers.flat)) == 6
    wrong = [TextGroup(("other", "third", "FIRST"), None), TextGroup(("Why?", "so", "why?"), None)]
    MultipleNegativesRanking.files.warn_of_contradictions([*examples, *wrong])
    contradiction, own = caplog.messages
    assert contradiction.startswith("1 negatives are positives of the same query")
    assert "training examples (16.7%) have the query itself as a negative, such as 'Why?'" in own


@pytest.mark.parametrize("task", [CosineSimilarity, MultipleNegativesRanking])
def test_directions_that_are_learnt_and_lengths_that_count_are_said(task, caplog):
    config = FinetuningConfig(encoder=tiny_encoder_config(), train_batch_size=2)
    examples = few(4, None if task is MultipleNegativesRanking else 0.5)
    for fine in (PoolingConfig("cls", False), PoolingConfig("cls", True, similarity_fn_name="dot")):
        task().with_pooling(fine).check_training(config, examples)
    assert "lengths" not in caplog.text
    task().with_pooling(PoolingConfig("cls", False, similarity_fn_name="dot")).check_training(
        config, examples
    )
    assert "similarity_fn_name=dot, where their lengths count too" in caplog.text


def test_a_teachers_shares_are_said_and_its_own_numbers_are_not(caplog):
    task = LateInteraction(num_negatives=2, is_taught=True).with_pooling(None)
    config = FinetuningConfig(
        task=task.name, dataset=dataclasses.replace(TRIPLETS, scores="s"), encoder=tiny_encoder_config()
    )

    def taught(*scores):
        return [TaughtGroup(("q", "p", "n", "m"), None, scores)]

    task.check_training(config, taught(9.5, 1.0, -4.0) * 8 + taught(0.9, 0.8, 0.7))
    assert not caplog.messages
    task.check_training(config, taught(0.86, 0.75, 0.8) * 19 + taught(9.5, 1.0, -4.0))
    (sentence,) = caplog.messages
    assert "such as 0.75 and 0.86: from shares or cosines" in sentence


def test_prompts_that_stand_in_the_texts_are_said(caplog):
    warn_once.cache_clear()
    inputs, prompts = TextInputs(small_corpus.vocabulary(), 8), {"query": "query: ", "document": ""}
    task = MultipleNegativesRanking({"prompts": prompts})
    task.examples_to_features(few(4), inputs)
    assert not caplog.messages
    written = [TextGroup((f"query: the {number}", "jump"), None) for number in range(3)]
    task.examples_to_features([*few(2), *written], inputs)
    assert len(caplog.messages) == 1 and "prompt 'query: ' is put before texts most of which" in caplog.text


def test_pooling_is_the_settings_the_checkpoints_or_mean():
    theirs = PoolingConfig("cls", False)
    for task in (CosineSimilarity(highest_score=5.0), MultipleNegativesRanking(num_negatives=2, scale=7.0)):
        assert task.with_pooling(None).pooling == PoolingConfig("mean", True)
        adopted = task.with_pooling(theirs)
        assert adopted.pooling == theirs
        assert adopted.get_config() == task.get_config() | {"pooling": "cls", "normalize": False}
        own = type(task)(pooling="max").with_pooling(theirs)
        assert own.pooling == PoolingConfig("max", False)


def test_a_metric_that_the_examples_do_not_give_is_named():
    task, scored, ranked = MultipleNegativesRanking(), TextGroup(("a", "b"), 0.5), TextGroup(("a", "b"), None)
    for metric, examples in (("mrr", [scored]), ("spearman", [ranked])):
        with pytest.raises(ValueError, match=f"best_metric={metric}"):
            task.check_metric(metric, examples)
    of_one_query = [scored, ranked, ranked._replace(texts=("a", "c"))]
    for examples in (of_one_query, [TextGroup(("a", "A "), None), TextGroup(("b", "b"), None)]):
        with pytest.raises(ValueError, match="best_metric=mrr .* all texts are right, or it is its own"):
            task.check_metric("mrr", examples)
    for metric in ("mrr", "spearman", "loss"):
        task.check_metric(metric, [scored, ranked, ranked._replace(texts=("c", "d"))])


def test_scores_of_another_scale_are_judged_in_the_whole_file(caplog):
    task = CosineSimilarity(lowest_score=0.0, highest_score=5.0)
    part = [TextGroup(("a", "b"), 0.3)] * 29 + [TextGroup(("a", "b"), 0.2)]
    task.check_examples(part, 8)
    config = tiny_finetuning_config(encoder=tiny_encoder_config())
    task.check_training(config, [*part, TextGroup(("a", "c"), 4.5)])
    assert not caplog.text
    task.check_training(config, part)
    assert "30 scores lie from 0.2 to 0.3, which become cosines up to 0.06" in caplog.text


def test_scores_that_are_all_the_same_teach_nothing(caplog):
    """One vector for all texts has no loss then."""
    task, pairs = CosineSimilarity(), [TextGroup(("a", "b"), 1.0), TextGroup(("a", "c"), 1.0)]
    config = tiny_finetuning_config(encoder=tiny_encoder_config())
    for fine in (pairs[:1], [*pairs, TextGroup(("a", "d"), 0.9)], None):
        task.check_training(config, fine)
    taught = dataclasses.replace(
        config, distillation=DistillationConfig(soft_label_weight=0, hidden_weight=1)
    )
    task.check_training(taught, pairs)
    assert not caplog.text
    task.check_training(config, pairs)
    assert (
        "all 2 scores of the training are 1: one answer, whatever the texts, is always right" in caplog.text
    )
    assert 'set task = "multiple_negatives_ranking"' in caplog.text
