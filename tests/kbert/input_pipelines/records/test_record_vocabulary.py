import pytest

from kbert.features import encoder_features
from kbert.input_pipelines.records.record_files import require_vocabulary
from kbert.manifest import Manifest
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary
from tests.tfrecords_tools import small_corpus


def manifest_of(vocabulary):
    return Manifest("pretraining", encoder_features(8), (), vocabulary.describe())


def test_a_swapped_file_is_refused_with_both_fingerprints(tmp_path):
    vocabulary = small_corpus.vocabulary()
    swapped = Vocabulary(vocabulary.tokens[::-1], do_lower_case=True)
    swapped.write(tmp_path / "vocab.txt")
    with pytest.raises(ValueError) as error:
        read_vocabulary(tmp_path, manifest_of(vocabulary).vocabulary)
    facts = (f"{tmp_path}: vocab.txt", swapped.fingerprint, vocabulary.fingerprint, "restore")
    assert all(fact in str(error.value) for fact in facts)


def test_records_with_another_limit_of_a_word_are_taken_and_it_is_said(caplog):
    """A model's vocab.txt alone has google-research/bert's limit, its Hugging Face folder another."""
    vocabulary = small_corpus.vocabulary()
    require_vocabulary("records", manifest_of(vocabulary), "runs/a", vocabulary.describe())
    assert not caplog.text
    limited = vocabulary.with_rules(max_input_chars_per_word=100)
    require_vocabulary("records", manifest_of(vocabulary), "runs/a", limited.describe())
    assert "records was made with max_input_chars_per_word=200, runs/a has 100" in caplog.text
    with pytest.raises(ValueError, match="was not made with the vocabulary of runs/a"):
        accents = vocabulary.with_rules(strip_accents=False)
        require_vocabulary("records", manifest_of(vocabulary), "runs/a", accents.describe())


def test_records_of_another_vocabulary_are_refused_with_both_fingerprints(tmp_path):
    vocabulary, cased = small_corpus.vocabulary(), small_corpus.vocabulary(do_lower_case=False)
    require_vocabulary("records", manifest_of(vocabulary), "runs/a", vocabulary.describe())
    with pytest.raises(ValueError) as error:
        require_vocabulary("records", manifest_of(cased), tmp_path, vocabulary.describe())
    facts = (
        str(tmp_path),
        f"{cased.fingerprint} (22 tokens, cased)",
        f"{vocabulary.fingerprint} (22 tokens, lower",
        f"make the records again with tokenizer={tmp_path}, as",
    )
    assert all(fact in str(error.value) for fact in facts)
    with pytest.raises(ValueError, match="again with that checkpoint's folder as tokenizer"):
        require_vocabulary("records", manifest_of(cased), "hf://org/name", vocabulary.describe())
