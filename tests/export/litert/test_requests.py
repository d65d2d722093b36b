"""What an export to LiteRT refuses before any work: what was received, and what would do."""

from types import SimpleNamespace

import pytest

from export.export_tflite import export_tflite
from export.litert import requests
from export.litert.litert_source import to_litert_source
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.cli.warn_once import warn_once
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary
from tests.export.litert.test_comparison_data import with_task
from tests.tfrecords_tools import small_corpus

CLASSIFICATION = TASKS["sequence_classification"]
LABELS = ("a", "b")
NO_TASKS = {  # the kinds of files -> tasks that cannot have them, with their lengths and what is said
    requests.check_mediapipe: [
        (CLASSIFICATION(LABELS, takes_pairs=True), (16,), ["sequence_classification", "single text"]),
        (TASKS["sequence_regression"](), (16,), ["sequence_regression", "numbers"]),
        (TASKS["token_classification"](("O", "B-X")), (16,), ["token_classification", "words"]),
        (TASKS["question_answering"](), (16,), ["question_answering", "spans"]),
        (TASKS["multiple_choice"](3), (16,), ["multiple_choice", "choices"]),
        (CLASSIFICATION(LABELS), (8, 16), ["[8, 16]", "give one"]),
        (CLASSIFICATION(("a\nb", "c")), (16,), ["'a\\nb' has a line break", "token ids"]),
        (CLASSIFICATION(LABELS, long_texts="windows", doc_stride=4), (16,), ["long_texts", "token ids"]),
    ],
    requests.check_tokenizer_inside: [
        (TASKS["token_classification"](("O", "B-X")), (16,), ["token_classification", "token ids"]),
        (CLASSIFICATION(LABELS, long_texts="windows", doc_stride=4), (16,), ["windows of long texts"]),
        (CLASSIFICATION(LABELS), (8, 16), ["[8, 16]", "give one"]),
    ],
}


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ([], ["empty", "float32, float16, dynamic_int8"]),
        (["int3"], ["=int3", "float32, float16, dynamic_int8"]),
        (["float32", "int8"], ["=int8", "dynamic_int8"]),
    ],
)
def test_flags(given, facts):
    with pytest.raises(ValueError) as error:
        requests.check_quantizations(given)
    assert str(error.value).startswith("--") and all(fact in str(error.value) for fact in facts)


@pytest.mark.parametrize(
    ("check", "task", "lengths", "facts"), [(check, *row) for check in NO_TASKS for row in NO_TASKS[check]]
)
def test_files_that_take_texts(finetuned_run, check, task, lengths, facts):
    with pytest.raises(ValueError) as error:
        check(with_task(finetuned_run, task), lengths)
    assert all(fact in str(error.value) for fact in facts)


def test_a_cased_vocabulary_is_refused_before_anything_is_made(finetuned_run, tmp_path):
    run = RunDirectory(finetuned_run.path)
    run.vocabulary = lambda: small_corpus.vocabulary(do_lower_case=False)
    with pytest.raises(ValueError, match="cased vocabulary .* MediaPipe makes every text lower-case"):
        export_tflite(run, tmp_path / "model", ["float32"], mediapipe=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("check", "rules"),
    [
        (requests.check_mediapipe, {"tokenize_chinese_chars": False}),
        (requests.check_tokenizer_inside, {"tokenize_chinese_chars": False}),
        (requests.check_tokenizer_inside, {"strip_accents": False}),
    ],
)
def test_rules_that_the_tokenizers_of_phones_lack_are_named(finetuned_run, check, rules):
    run = RunDirectory(finetuned_run.path)
    run.vocabulary = lambda: small_corpus.vocabulary().with_rules(**rules)
    (name,) = rules
    with pytest.raises(ValueError, match=f"{name}=false, .* use the file whose inputs are token ids"):
        check(to_litert_source(run), (16,))
    run.vocabulary = lambda: small_corpus.vocabulary().with_rules(max_input_chars_per_word=100)
    check(to_litert_source(run), (16,))


@pytest.mark.parametrize(
    ("check", "takes_pairs"),
    [
        *((requests.check_tokenizer_inside, takes_pairs) for takes_pairs in (None, True, False)),
        *((requests.check_mediapipe, takes_pairs) for takes_pairs in (None, False)),
    ],
)
def test_a_model_that_may_take_pairs_is_told_that_its_file_takes_texts(
    finetuned_run, caplog, check, takes_pairs
):
    warn_once.cache_clear()
    check(with_task(finetuned_run, CLASSIFICATION(LABELS, takes_pairs=takes_pairs)), (16,))
    assert ("make a run of it first" in caplog.text) == (takes_pairs is None)


def test_mediapipe_puts_berts_special_tokens_around_a_text(finetuned_run):
    run = RunDirectory(finetuned_run.path)
    tokens = [*MPNET_TOKENS, *(token for token in small_corpus.TOKENS if token not in MPNET_TOKENS)]
    run.vocabulary = lambda: Vocabulary(tokens, True, special_tokens=MPNET_TOKENS)
    with pytest.raises(
        ValueError, match=r"special tokens <pad>, .* MediaPipe puts \[CLS\] and \[SEP\] around"
    ):
        requests.check_mediapipe(to_litert_source(run), (16,))


@pytest.mark.parametrize(
    ("max_seq_length", "several", "expected"),
    [
        (128, True, (16, 32, 64, 128)),
        (100, True, (16, 32, 64, 100)),
        (12, True, (12,)),
        (16, True, (16,)),
        (1024, True, (16, 32, 64, 128, 256, 512, 1024)),
        (128, False, (128,)),
    ],
)
def test_default_lengths(finetuned_run, max_seq_length, several, expected):
    source = to_litert_source(finetuned_run)
    source = source._replace(loaded=SimpleNamespace(
        max_seq_length=max_seq_length, with_max_seq_length=lambda length: None,
        vocabulary=source.loaded.vocabulary,
    ))  # fmt: skip
    assert requests.checked_lengths(None, source, several) == expected


@pytest.mark.parametrize(
    ("lengths", "facts"),
    [
        ((), ["[]", "1 to 8"]),
        ((8, 8), ["[8, 8]", "different"]),
        (range(4, 13), ["1 to 8"]),
        ((3, 8), ["=3", "at least 4"]),
        ((8, 99), ["=99", "more than the 32 positions"]),
    ],
)
def test_lengths(finetuned_run, lengths, facts):
    with pytest.raises(ValueError) as error:
        requests.checked_lengths(lengths, to_litert_source(finetuned_run))
    assert all(fact in str(error.value) for fact in facts)


def test_positions_that_no_text_has_trained_are_said(finetuned_run, caplog):
    warn_once.cache_clear()
    source = to_litert_source(finetuned_run)
    assert requests.checked_lengths((8, 24), source) == (8, 24) and "no text of more" not in caplog.text
    requests.checked_lengths((32, 8), source)
    assert "no text of more than 24 tokens has trained it" in caplog.text


def test_choices_of_no_known_number_need_a_config(finetuned_run):
    with pytest.raises(ValueError, match=r"how many choices .* give --config.* dataset\.choices"):
        requests.check_task(with_task(finetuned_run, TASKS["multiple_choice"]()))
