import re

import numpy as np
import pytest

from kbert.features import Feature, encoder_features
from kbert.manifest import Manifest, describe_shards, read_manifest
from tests.tfrecords_tools import small_corpus
from tests.tfrecords_tools.written_records import write_records
from tfrecords_tools.create_pretraining_data import create_pretraining_data
from tfrecords_tools.records.record_text import describe_record, shown_tokens
from tfrecords_tools.records.stored_records import read_records
from tfrecords_tools.records.tfrecord_files import encode_examples, framed
from tfrecords_tools.show_records import show_records

VOCABULARY = small_corpus.vocabulary()


def example(**changes):
    ids = VOCABULARY.ids
    tokens = ["[CLS]", "[MASK]", "the", "[SEP]", "walk", "##ed", "jump", "[SEP]", "[PAD]", "[PAD]"]
    whole = {
        "input_ids": [ids[token] for token in tokens],
        "input_mask": [1] * 8 + [0] * 2,
        "segment_ids": [0] * 4 + [1] * 4 + [0] * 2,
        "masked_lm_positions": [1, 4, 6, 0],
        "masked_lm_ids": [ids["play"], ids["talk"], ids["jump"], 0],
        "masked_lm_weights": [1.0, 1.0, 1.0, 0.0],
        "next_sentence_labels": [1],
    }
    return {name: np.array(values) for name, values in (whole | changes).items()}


@pytest.fixture
def records(tmp_path):
    corpus = small_corpus.write_corpus(tmp_path)
    settings = {"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 1, "num_shards": 2}
    create_pretraining_data(*corpus, tmp_path / "records", **settings)
    return tmp_path / "records"


def test_masked_replaced_and_kept_places_are_marked():
    assert describe_record(example(), VOCABULARY) == (
        "[CLS] [MASK->play] the [SEP]\n"
        "  + [walk->talk] ##ed [jump->jump] [SEP]\n"
        "  length 8 of 10: first text 4, second 4, padding 2\n"
        "  next_sentence_labels 1: the second text is a random one\n"
        "  answers (3): 1=play 4=talk 6=jump"
    )
    kinds = [(token.kind, token.segment) for token in shown_tokens(example(), VOCABULARY)]
    assert kinds == [("", 0), ("masked", 0), ("", 0), ("", 0),
                     ("replaced", 1), ("", 1), ("kept", 1), ("", 1)]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "label", "words"),
    [
        ({}, 0, "the second text really comes next"),
        ({"pairing": "sentence_pairs"}, 1, "the second text is a random one"),
        ({"pairing": "sentence_order"}, 0, "the two texts stand in their own order"),
        ({"pairing": "sentence_order"}, 1, "the two texts are swapped, or the second is a random one"),
        ({"pairing": "sentence_pairs"}, 2, "unknown"),
    ],
)
def test_the_pairing_says_what_the_label_of_a_pair_means(settings, label, words):
    described = describe_record(example(next_sentence_labels=[label]), VOCABULARY, settings)
    assert f"next_sentence_labels {label}: {words}\n" in described


@pytest.mark.parametrize(("label", "words"), [(1, "loud"), (0, "quiet"), (2, "no name in the manifest")])
def test_labels_are_told_by_name(label, words):
    settings = {"dataset": {"labels": ["quiet", "loud"]}}
    labelled = {name: example()[name] for name in ("input_ids", "input_mask", "segment_ids")}
    described = describe_record(labelled | {"label_ids": np.array(label)}, VOCABULARY, settings)
    assert described.endswith(f"\n  label_ids {label}: {words}")


def test_as_many_records_as_asked_for_are_printed(records, capsys):
    show_records(records, num_records=2)
    printed = capsys.readouterr().out
    assert printed.count("\nrecord ") == 2 and printed.count("[CLS]") == 2
    assert "documents: 10" in printed and "[MASK->" in printed and "WRONG" not in printed
    show_records(records, num_records=10**6)
    assert capsys.readouterr().out.count("\nrecord ") == read_manifest(records).num_examples


@pytest.mark.slow
def test_any_record_can_be_asked_for(tmp_path, capsys):
    """The label of a record is its number; shards take turns, so shard 1 of 3 begins with record 1."""
    features = encoder_features(4) | {"number": Feature("int32", ())}
    ids = np.array([[VOCABULARY.cls_id, VOCABULARY.ids["play"], VOCABULARY.sep_id, 0]] * 10)
    ones = np.array([[1, 1, 1, 0]] * 10)
    batch = {"input_ids": ids, "input_mask": ones, "segment_ids": 0 * ones, "number": np.arange(10)}
    write_records(tmp_path / "out", [batch], "toy", features, VOCABULARY, 3, "gzip")
    manifest = read_manifest(tmp_path / "out")
    in_order = [0, 3, 6, 9, 1, 4, 7, 2, 5, 8]
    for start in range(11):
        found = [int(record["number"]) for record in read_records(tmp_path / "out", manifest, start)]
        assert found == in_order[start:]

    def numbers(**asked):
        show_records(tmp_path / "out", **asked)
        printed = capsys.readouterr().out
        records = [int(n) for n in re.findall(r"\nrecord (\d+): \[CLS\] play \[SEP\]\n", printed)]
        assert [in_order[n] for n in records] == [int(n) for n in re.findall(r"  number (\d+)", printed)]
        return records

    assert numbers() == [0, 1, 2]
    assert numbers(record=9) == [9] and numbers(record=3, num_records=2) == [3, 4]
    assert numbers(shard=1) == [4, 5, 6] and numbers(shard=2, record=2) == [9]
    assert numbers(shard=1, num_records=99) == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (b"\x0a\xff", "holds a record that is no tf.train.Example"),
        (encode_examples({"label": np.array([1 << 40])}, {"label": Feature("int64", ())})[0],
         "feature 'label' holds a number outside of int32"),
    ],
)  # fmt: skip
def test_a_record_that_is_none_is_one_sentence(tmp_path, record, sentence):
    path, features = tmp_path / "a.tfrecord", {"label": Feature("int32", ())}
    path.write_bytes(framed([record])[0])
    manifest = Manifest("a", features, describe_shards(tmp_path, {path.name: 1}), VOCABULARY.describe())
    with pytest.raises(ValueError, match=f"^{path}.* {sentence}; make the records again.$"):
        list(read_records(tmp_path, manifest))
