"""What may be given as texts, the same everywhere: a text, a list of texts, and nothing else."""

import json
import random

import numpy as np
import pytest

from kbert.inference.feature_extractor import FeatureExtractor
from kbert.inference.mask_filler import MaskFiller
from kbert.inference.text_classifier import TextClassifier
from kbert.inference.texts import text_batch
from kbert.tasks import TASKS
from tests.kbert.inference.random_model import random_task_model


@pytest.fixture(scope="module")
def classifier():
    return random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))


@pytest.fixture(scope="module")
def masked():
    return random_task_model(TASKS["pretraining"]())


@pytest.fixture(scope="module")
def roads(classifier, masked):
    """Name -> function of texts, for every road from texts to answers."""
    return {
        "classify": TextClassifier(classifier),
        "embed": classifier.embed,
        "extract": FeatureExtractor(classifier, pooling="mean"),
        "fill": MaskFiller(masked),
        "inputs": classifier.inputs,
    }


ROADS = ["classify", "embed", "extract", "fill", "inputs"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classify", "embed", "extract", "fill"])
def test_a_text_by_itself_gets_what_a_list_of_it_gets(roads, name):
    alone, (listed,) = roads[name]("jump [MASK]"), roads[name](["jump [MASK]"])
    if name == "embed":
        np.testing.assert_array_equal(alone, listed)
    elif name == "extract":
        assert alone.tokens == listed.tokens
        np.testing.assert_array_equal(alone.values, listed.values)
    else:
        assert alone == listed


def test_a_text_by_itself_is_a_batch_of_one_for_the_model(classifier):
    inputs = classifier.inputs("jump the a")
    assert inputs["input_ids"].shape == (1, 5)
    assert TextClassifier(classifier).outputs("jump the a")["probabilities"].shape == (1, 2)


def test_pairs_by_themselves_and_in_lists(classifier):
    classify = TextClassifier(classifier)
    assert classify("jump", "the a") == classify(["jump"], ("the a",))[0]
    extract = FeatureExtractor(classifier)
    assert extract("jump", "the").tokens.count("[SEP]") == 2


@pytest.mark.parametrize("name", ROADS)
@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (None, r"texts is NoneType; expected a text \(str\) or a list of texts\."),
        (7, r"texts is int \(7\); expected a text"),
        (b"jump", r"texts is bytes \(b'jump'\); expected a text"),
        ({"jump": 1}, "texts is dict .*; expected a text"),
        ({"jump"}, "texts is set .*; expected a text"),
        (np.array("jump"), "texts is ndarray .*; expected a text"),
        (["a [MASK]", None], r"texts\[1\] is NoneType; expected a text \(str\)\."),
        ([b"jump"], r"texts\[0\] is bytes \(b'jump'\); .*; decode it first, for example with \.decode"),
        (["a [MASK]", 3.5], r"texts\[1\] is float \(3\.5\)"),
        ([["jump", "walk"]], r"texts\[0\] is list \(\['jump', 'walk'\]\)"),
        (["half of \ud83d"], r"texts\[0\] cannot be encoded in UTF-8: its character 9 is '\\ud83d'"),
    ],
    ids=repr,
)
def test_anything_else_is_one_sentence(roads, name, texts, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        roads[name](texts)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("texts", "pairs", "sentence"),
    [
        (["a", "b"], ["c"], "2 texts but 1 text_pairs; give one second text for each"),
        ("a", ["c"], "texts is one text, but text_pairs is not; give one text for both, or a list for both"),
        (["a"], "c", "text_pairs is one text, but texts is not"),
        (["a"], [None], r"text_pairs\[0\] is NoneType; expected a text"),
        (["a"], 5, r"text_pairs is int \(5\)"),
    ],
)
def test_pairs_that_do_not_fit(classifier, texts, pairs, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextClassifier(classifier)(texts, pairs)
    with pytest.raises(ValueError, match=sentence):
        classifier.inputs(texts, pairs)


def test_whatever_can_be_gone_through_is_a_list():
    texts = ["jump", "", "walk"]
    for given in (texts, tuple(texts), iter(texts), np.array(texts), np.array(texts, object)):
        batch = text_batch(given)
        assert not batch.is_alone and batch.texts == texts
        assert all(type(text) is str for text in batch.texts)
    assert text_batch(["a", "b"], ["c", None], pairs_may_miss=True).pairs == ["c", None]


def test_a_number_of_tokens_that_is_none(masked):
    for top_k in (0, -1, 2.0, True, None):
        with pytest.raises(ValueError, match="expected a whole number of tokens, at least 1"):
            MaskFiller(masked)("a [MASK]", top_k=top_k)


# --------------------------------------------------------------------------------- finite numbers


@pytest.fixture
def broken():
    """Models of which one weight is not a number: the vector of one token."""

    def breaks(task, value):
        loaded = random_task_model(task)
        table = loaded.encoder.embeddings.trainable_variables[0]
        numbers = table.numpy()
        numbers[loaded.vocabulary.ids["jump"]] = value
        table.assign(numbers)
        return loaded

    return breaks


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_answer_that_is_no_number_is_refused_and_its_text_named(broken, value):
    """One token's vector is damaged, so that other texts still have answers."""
    classifier = broken(TASKS["sequence_classification"](["quiet", "loud"]), value)
    sentence = r"random gives numbers that are not finite \(NaN or infinite\) for texts\[1\]"
    classify = TextClassifier(classifier)
    assert json.dumps(classify(["walk", "play"]), allow_nan=False)
    for road in (classify, classifier.embed, FeatureExtractor(classifier)):
        with pytest.raises(ValueError, match=sentence):
            road(["walk a play", "jump"])
    fill = MaskFiller(broken(TASKS["pretraining"](), value))
    with pytest.raises(ValueError, match="gives numbers that are not finite"):
        fill(["walk [MASK]", "jump [MASK]"])


# Longer than one batch; the shortest texts, which are the last, are answered first.
MANY = ["[MASK]" + " a" * (40 - index) for index in range(40)]


@pytest.mark.slow
def test_the_place_of_an_answer_that_is_no_number_is_that_in_the_callers_list(broken):
    texts = [*MANY[:3], MANY[3].replace("a", "jump"), *MANY[4:]]
    classifier = broken(TASKS["sequence_classification"](["quiet", "loud"]), np.nan)
    for road in (TextClassifier(classifier), FeatureExtractor(classifier), classifier.embed):
        with pytest.raises(ValueError, match=r"for texts\[3\]"):
            road(texts)
    with pytest.raises(ValueError, match="for example 4:"):
        classifier.predict(texts)


@pytest.mark.slow
def test_a_damaged_token_is_no_candidate_but_an_error_of_every_mask(broken):
    """The table also scores the tokens, of every text; the shortest is answered first."""
    fill = MaskFiller(broken(TASKS["pretraining"](), np.nan))
    for asked in ({}, {"whole_words": True}, {"candidates": ["walk"]}):
        with pytest.raises(ValueError, match=r"for texts\[39\]"):
            fill(MANY, **asked)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classify", "embed", "extract", "fill"])
def test_many_texts_are_answered_in_batches_and_in_their_order(roads, name, monkeypatch):
    """As they are answered one by one."""
    many, alone = roads[name](MANY), [roads[name](MANY[place]) for place in (0, 3, 39)]
    assert len(many) == len(MANY)
    for place, want in zip((0, 3, 39), alone, strict=True):
        got = many[place]
        if name == "extract":
            assert got.tokens == want.tokens
            got, want = got.values, want.values
        got, want = (np.ravel(numbers_of(x) if name in ("classify", "fill") else x) for x in (got, want))
        np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.slow
def test_a_large_list_is_no_large_batch(classifier):
    extract, lengths = FeatureExtractor(classifier), []
    run = extract._run
    extract._run = lambda inputs: lengths.append(inputs["input_ids"].shape[0]) or run(inputs)
    extract(MANY * 5)
    extract(MANY * 5, [None, "the"] * 100)
    assert lengths == [128, 72, 100, 100]


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([], []),
        ([1] * 300, [128, 128, 44]),
        ([10_000] * 70, [32, 32, 6]),
        ([400] * 100, [40, 40, 20]),
        ([10] * 100 + [20_000] * 40, [100, 32, 8]),
    ],
)
def test_short_texts_come_in_larger_batches_and_each_text_once(lengths, sizes):
    shuffled = random.Random(1).sample(lengths, len(lengths))
    batches = list(text_batch(["a" * length for length in shuffled]).places_of_like_length())
    assert [len(batch) for batch in batches] == sizes
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(lengths)))
    assert [shuffled[place] for place in places] == sorted(lengths)


def test_second_texts_count_for_the_size_of_a_batch():
    batch = text_batch(["a"] * 100, ["b" * 400] * 100)
    assert [len(places) for places in batch.places_of_like_length()] == [40, 40, 20]


# ------------------------------------------------------------------------------------------- fuzz

PIECES = (
    *("jump", "walked", " ", "[MASK]", "[SEP]", "##ed", "'", "a" * 300),
    *("\x00", "\n", "\t", "\x1b", "\u200b", "\u2028", "\ufffd", "\ud800", "\udfff", "\U0010ffff"),
    *("é", "e\u0301", "漢字", "\U0001f600", "ﬃ", "İ", "ا"),
)


def odd_text(rng):
    """A text of any kind: empty, one of a few pieces, random characters, or very long."""
    kind = rng.random()
    if kind < 0.05:
        return ""
    if kind < 0.5:
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 12)))
    if kind < 0.95:
        highest = rng.choice([0x80, 0x800, 0xD800, 0x110000])
        return "".join(chr(rng.randrange(highest)) for _ in range(rng.randrange(1, 40)))
    return rng.choice(PIECES[:9]) * rng.randrange(1, 2000)


def odd_texts(rng, number):
    """Some texts, of which now and then one is something else."""
    texts = [odd_text(rng) for _ in range(number)]
    if rng.random() < 0.2:
        texts[rng.randrange(number)] = rng.choice([None, b"bytes", 5, float("nan"), ["a"], {"a": "b"}])
    return texts


def numbers_of(answer):
    if isinstance(answer, dict):
        return [number for value in answer.values() for number in numbers_of(value)]
    if isinstance(answer, list | tuple):
        return [number for value in answer for number in numbers_of(value)]
    return [] if isinstance(answer, str) else np.asarray(answer, np.float64).ravel().tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ROADS)
def test_odd_texts_get_finite_answers_or_one_sentence(roads, name):
    rng = random.Random(f"texts for {name}")
    answered = 0
    for _ in range(50):
        texts = odd_texts(rng, rng.randrange(1, 4))
        given = texts[0] if rng.random() < 0.3 else texts
        if name == "fill" and rng.random() < 0.7:
            given = [f"[MASK] {text}" if isinstance(text, str) else text for text in texts]
        try:
            answer = roads[name](given)
        except ValueError as error:
            assert "\n" not in str(error) and 20 < len(str(error)) < 400, repr(given)
            continue
        answered += 1
        assert np.isfinite(numbers_of(answer)).all() and numbers_of(answer), repr(given)
        if name in ("classify", "fill"):
            json.loads(json.dumps(answer, allow_nan=False))
    assert 10 < answered < 45, "texts of both kinds were tried"
