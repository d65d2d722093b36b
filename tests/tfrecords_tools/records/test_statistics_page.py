"""The page beside the records: every number of statistics.json in words, for each kind of records."""

import json
import re
from html import unescape

import numpy as np
import pytest

from kbert.features import Feature, encoder_features, pretraining_features
from tests.html_checks import read_page
from tests.tfrecords_tools import small_corpus
from tests.tfrecords_tools.records.test_record_statistics import LENGTH, PREDICTIONS, random_batch
from tests.tfrecords_tools.written_records import write_records
from tfrecords_tools.records.record_statistics import RecordStatistics

VOCABULARY = small_corpus.vocabulary()


@pytest.fixture
def write(tmp_path):
    """Writes records of a batch, with statistics, and returns their folder."""

    def write(batch, features, kind="pretraining", settings=None, vocabulary=VOCABULARY):
        statistics = RecordStatistics(features, vocabulary)
        batch = {name: batch[name] for name in features}
        statistics.update(batch)
        folder, batches = tmp_path / "records", [batch] if len(batch["input_ids"]) else []
        write_records(
            *(folder, batches, kind, features, vocabulary, 2),
            settings=settings,
            counted=statistics,
            overwrite=True,
        )
        return folder

    return write


def pretraining(write, **arguments):
    features = pretraining_features(LENGTH, PREDICTIONS)
    return write(random_batch(60), features, **arguments)


def labelled(write, labels=("quiet", "loud", "never"), **arguments):
    ids = np.array([[2, 5, 3, 0, 0, 0, 0, 0], [2, 5, 6, 3, 0, 0, 0, 0], [2, 1, 3, 0, 0, 0, 0, 0]])
    batch = {
        "input_ids": ids,
        "input_mask": (ids > 0).astype(int),
        "segment_ids": 0 * ids,
        "label_ids": np.array([1, 0, 1]),
    }
    features = encoder_features(8) | {"label_ids": Feature("int32", ())}
    settings = {"dataset": {"labels": list(labels)}}
    return write(batch, features, "sequence_classification", settings, **arguments)


def page_of(directory):
    return read_page(directory / "statistics.html")


def words_of(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html[html.index("<body>") :])).split())


def parts_of(html):
    return re.findall(r"<h2>(.*?)</h2>", html)


def test_the_numbers_of_pretraining_records_are_on_the_page(write):
    directory = pretraining(write, settings={"pairing": "sentence_pairs", "seed": 7})
    html = page_of(directory)
    assert parts_of(html) == ["Examples", "Lengths", "Masks", "Next sentence", "Tokens",
                              "How they were made", "Files"]  # fmt: skip
    text = words_of(html)
    values = json.loads((directory / "statistics.json").read_text())
    masking, total = values["masking"], values["masking"]["predictions"]
    zeros, ones = values["next_sentence"]
    for number in (
        "60 examples of up to 16 tokens",
        f"{100 * values['fill_rate']:.1f}% of all positions hold text",
        f"{100 * masking['share']:.1f}% of the tokens, special ones included, are masked",
        f"shown as [MASK] {100 * masking['shown_as_mask'] / total:.1f}%",
        f"replaced by a random token {100 * masking['shown_random'] / total:.1f}%",
        f"shown unchanged {100 * masking['shown_unchanged'] / total:.1f}%",
        f"the second text really comes next {100 * zeros / 60:.1f}%",
        f"the second text is a random one {100 * ones / 60:.1f}%",
        f"{100 * values['unknown_share']:.2f}% unknown ([UNK])",
        f"{values['pieces_used']} of 22 tokens of the vocabulary occur",
        "seed 7",
        "documents 12",
        "2 shards",
        VOCABULARY.fingerprint,
    ):
        assert number in text, number
    for piece, count in values["masking"]["most_masked"]:
        assert f'title="{count:,}"><b>{piece}</b>' in html


def test_labels_have_names_and_the_best_constant_answer(write):
    html = page_of(labelled(write))
    assert parts_of(html) == ["Examples", "Lengths", "Labels", "Tokens", "How they were made", "Files"]
    text = words_of(html)
    for words in (
        "quiet: 1 33.3%",
        "loud: 2 66.7%",
        "never: 0 0.0%",
        "most frequent label is right in 66.7%",
    ):
        assert words in text, words
    assert "label_ids 1: loud" in text
    assert "Length of the second text" not in text


def test_all_text_is_escaped(write):
    hostile = "<script>alert('boo')</script>\"&"
    vocabulary = type(VOCABULARY)(
        tuple(hostile if token == "play" else token for token in VOCABULARY.tokens), True
    )
    html = page_of(labelled(write, labels=(hostile, "b", "c"), vocabulary=vocabulary))
    assert "'boo'" not in html and html.count("&lt;script&gt;") > 4
