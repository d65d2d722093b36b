import os

import numpy as np
import pytest

from kbert.features import Feature, encoder_features
from kbert.manifest import read_manifest
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data
from tfrecords_tools.record_writer import RecordWriter
from tfrecords_tools.show_records import describe_record, inconsistencies, read_records, show_records

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
    assert describe_record(example(), VOCABULARY.tokens) == (
        "[CLS] [MASK->play] the [SEP] [walk->talk] ##ed [jump->jump] [SEP]\n"
        "  length 8: first text 4, second 4, with special tokens\n"
        "  next_sentence_labels 1: random text\n"
        "  answers (3): 1=play 4=talk 6=jump"
    )
    assert "0: the real next text" in describe_record(example(next_sentence_labels=[0]), VOCABULARY.tokens)


def test_a_sound_example_has_no_inconsistencies():
    assert inconsistencies(example()) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"input_mask": [1] * 7 + [0, 1, 0]}, "input_mask is not ones followed by zeros."),
        ({"segment_ids": [0] * 4 + [1] * 6}, "segment_ids are not 0 at the padding."),
        ({"masked_lm_weights": [1.0, 0.5, 1.0, 0.0]}, "masked_lm_weights are not ones followed by zeros."),
        (
            {"masked_lm_weights": [1.0, 1.0, 0.0, 0.0]},
            "masked_lm_positions or masked_lm_ids are not 0 where the weight is 0.",
        ),
        (
            {"masked_lm_positions": [4, 1, 6, 0]},
            "masked_lm_positions do not rise, or leave the text between [CLS] and [SEP].",
        ),
        (
            {"masked_lm_positions": [1, 4, 7, 0]},
            "masked_lm_positions do not rise, or leave the text between [CLS] and [SEP].",
        ),
    ],
)
def test_what_does_not_fit_together_is_said(changes, sentence):
    broken = example(**changes)
    assert inconsistencies(broken) == [sentence]
    assert f"WRONG: {sentence}" in describe_record(broken, VOCABULARY.tokens)


def test_as_many_records_as_asked_for_are_printed(records, capsys):
    show_records(records, num_records=2)
    printed = capsys.readouterr().out
    assert printed.count("\nrecord ") == 2 and printed.count("[CLS]") == 2
    assert "documents: 10" in printed and "[MASK->" in printed and "WRONG" not in printed
    show_records(records, num_records=10**6)
    assert capsys.readouterr().out.count("\nrecord ") == read_manifest(records).num_examples


def test_other_kinds_of_records_are_printed_too(tmp_path, capsys):
    features = encoder_features(4) | {"label": Feature("int32", ())}
    with RecordWriter(tmp_path / "out", kind="toy", features=features, vocabulary=VOCABULARY) as writer:
        cls_id, sep_id, play = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.ids["play"]
        writer.write(
            {
                "input_ids": [[cls_id, play, sep_id, 0]],
                "input_mask": [[1, 1, 1, 0]],
                "segment_ids": [[0, 0, 0, 0]],
                "label": [6],
            }
        )
        writer.finish()
    show_records(tmp_path / "out")
    printed = capsys.readouterr().out
    assert "record 0: [CLS] play [SEP]\n" in printed and "label 6" in printed


def test_a_folder_without_records_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"holds no manifest\.json"):
        show_records(tmp_path)
    with pytest.raises(ValueError, match="num_records=0 must be at least 1"):
        show_records(tmp_path, num_records=0)


def test_a_damaged_shard_is_named(records):
    shard = records / read_manifest(records).shards[0].file
    os.truncate(shard, shard.stat().st_size - 5)
    with pytest.raises(ValueError, match=rf"{shard.name} is damaged .*; make the records again"):
        list(read_records(records, read_manifest(records)))


def test_a_shard_that_does_not_fit_its_manifest_is_named(records):
    path = records / "manifest.json"
    path.write_text(path.read_text().replace("32\n", "48\n"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"'input_ids' holds 32 values, but the manifest says shape \[48\]"):
        list(read_records(records, read_manifest(records)))
