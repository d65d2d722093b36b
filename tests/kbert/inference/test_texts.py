"""What may be given as texts, the same everywhere: a text, a list of texts, and nothing else."""

import random
from enum import Enum

import numpy as np
import pytest
import tensorflow as tf

from kbert.inference import answers
from kbert.inference.feature_extractor import FeatureExtractor
from kbert.inference.texts import text_batch
from kbert.tasks import TASKS
from tests.kbert.inference.random_model import random_task_model
from tests.kbert.input_pipelines.frames import Column

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture(scope="module")
def classifier():
    return random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))


@pytest.fixture(scope="module")
def roads(classifier):
    """Name -> function of texts, for every road from texts to answers."""
    return {
        "predict": classifier.predict,
        "embed": classifier.embed,
        "extract": FeatureExtractor(classifier, pooling="mean"),
    }


NUMBERS = {
    "predict": lambda answer: list(answer["probabilities"].values()),
    "embed": lambda vector: vector,
    "extract": lambda features: features.values,
}


def test_whatever_can_be_gone_through_is_a_list():
    texts = ["jump", "", "walk"]
    arrays = (np.array(texts), np.array(texts, object), Column(texts), tf.constant(texts))
    for given in (texts, tuple(texts), iter(texts), *arrays, tf.data.Dataset.from_tensor_slices(texts)):
        batch = text_batch(given)
        assert not batch.is_alone and batch.texts == texts
        assert all(type(text) is str for text in batch.texts)
    name = Enum("Name", {"ONE": "jump"}, type=str).ONE
    assert [*text_batch(name).texts, *text_batch([name]).texts] == ["jump", "jump"]
    assert text_batch(["a", "b"], ["c", None], pairs_may_miss=True).pairs == ["c", None]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_path_is_no_text(roads, name, tmp_path):
    """An answer to the letters of a path would be taken for that of the file."""
    for path in ("texts.csv.gz", "texts.xlsx", "tf_examples.tfrecord"):
        (tmp_path / path).touch()
        with pytest.raises(ValueError, match=f"which is a file; give its texts, .*{path}"):
            roads[name](str(tmp_path / path))
    roads[name]([str(tmp_path / "texts.xlsx")])  # of a batch of lines, whatever they name
    roads[name]("no/such/file.csv")


# Longer than one batch; the shortest texts, which are the last, are answered first.
MANY = ["[MASK]" + " a" * (40 - index) for index in range(40)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_many_texts_are_answered_in_batches_and_in_their_order(roads, name):
    """As they are answered one by one."""
    many = roads[name](MANY)
    assert len(many) == len(MANY)
    for place in (0, 3, 39):
        alone = NUMBERS[name](roads[name](MANY[place]))
        np.testing.assert_allclose(NUMBERS[name](many[place]), alone, atol=1e-5)


@pytest.mark.parametrize(
    ("lengths", "longest", "sizes"),
    [
        ([], 512, []),
        ([1] * 300, 512, [128, 128, 44]),
        ([10_000] * 70, 512, [32, 32, 6]),
        ([10] * 100 + [20_000] * 40, 512, [100, 32, 8]),
        ([3000] * 40, 8192, [32, 8]),  # 625 tokens of English, at most 1,000
        ([6000] * 36, 8192, [8, 8, 8, 8, 4]),
        ([20_000] * 3, 8192, [1, 1, 1]),
    ],
)
def test_short_texts_come_in_larger_batches_and_each_text_once(lengths, longest, sizes):
    shuffled = random.Random(1).sample(lengths, len(lengths))
    batches = list(text_batch(["a" * length for length in shuffled]).positions_by_length(longest))
    assert [len(batch) for batch in batches] == sizes
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(lengths)))
    assert [shuffled[place] for place in places] == sorted(lengths)


def test_tokens_of_a_text_are_told_by_its_bytes():
    """A Chinese character is a token, an English word of nearly five letters is one, too."""
    for text, sizes in {"a" * 2001: [32], "\u4e2d" * 2001: [8] * 4}.items():
        batches = text_batch([text] * 32).positions_by_length(8192)
        assert [len(batch) for batch in batches] == sizes


def test_texts_in_windows_are_those_of_tasks_that_do_not_cut_them():
    in_windows = {name for name in TASKS if getattr(TASKS[name].serving_class, "in_windows", False)}
    assert in_windows == {"question_answering", "token_classification"}
    for long_texts in ("cut", "head_tail", "windows"):
        task = TASKS["sequence_classification"](labels=("a", "b"), long_texts=long_texts)
        assert task.serving.in_windows == (long_texts == "windows")


def test_inputs_of_long_texts_are_the_rows_that_answers_read():
    long, rows = "the " * 30 + "play " * 30, {}
    for long_texts in ("cut", "head_tail", "windows"):
        loaded = random_task_model(TASKS["sequence_classification"](("a", "b"), long_texts=long_texts))
        inputs = loaded.inputs([long])
        rows[long_texts] = inputs["input_ids"].numpy()[0].tolist()
        assert rows[long_texts] == loaded.inputs(long, with_masks=True)["input_ids"].numpy()[0].tolist()
        if long_texts != "windows":  # of which answers pool all
            logits = [*loaded.predict(long, raw_scores=True)["logits"].values()]
            np.testing.assert_allclose(loaded.model(inputs)["logits"][0], logits, atol=1e-5)
    assert rows["windows"] == rows["cut"] != rows["head_tail"]


def test_texts_of_a_graph_are_told_what_reads_them(classifier):
    texts = tf.data.Dataset.from_tensor_slices(["jump", "walk"]).batch(2)
    with pytest.raises(ValueError, match=r"in a graph ask loaded.text_inputs\(texts\)"):
        texts.map(classifier.inputs)
    (inputs,) = texts.map(classifier.text_inputs)
    assert inputs["input_ids"].shape == (2, 24)


def test_examples_of_thousands_of_tokens_come_in_smaller_batches():
    """32 pairs of 8,192 tokens would have 137 GB of scores in a layer of 16 heads."""
    seconds = ["b" * length for length in [5900] * 12 + [27_000]]
    examples = [{"id": "x", "text": "a" * 100, "text_pair": second} for second in seconds]
    for longest, sizes in {512: [13], 2048: [8, 5], 8192: [8, 4, 1]}.items():
        batches = answers.example_batches(["pairs"] * 13, examples, 32, longest)
        assert [len(batch) for batch in batches] == sizes
    contexts = [{"question": "a", "context": "b" * 25_000}] * 5  # each of many windows, all of them one call
    for in_windows, sizes in ((False, [5]), (True, [3, 2])):
        batches = answers.example_batches(["spans"] * 5, contexts, 32, 384, in_windows)
        assert [len(batch) for batch in batches] == sizes
