"""`LoadedModel.predict` and its like: a text, a pair, a list, and one sentence for anything else."""

from collections import namedtuple
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from scipy import sparse

import kbert
from kbert.config import DatasetConfig
from kbert.inference.answers import require_text, to_examples
from kbert.inference.text_answers import TextAnswers
from kbert.tasks import TASKS
from kbert.tasks.similarity.vectors import similarities
from tests.kbert.inference.answering import answers
from tests.kbert.inference.random_model import random_task_model
from tests.kbert.input_pipelines.frames import Column, Frame

pytestmark = pytest.mark.usefixtures("eager")

Row = namedtuple("Row", "Index text_pair text")  # as DataFrame.itertuples has them


class RowOfPandas(Column):
    def __init__(self, **cells):
        super().__init__(cells.values())
        self.index, self.to_dict = list(cells), lambda: cells


class Name(str, Enum):  # not StrEnum, whose members are their values to `str` too
    ONE = "a"
    TWO = "b"


@pytest.fixture(scope="module")
def classifier():
    return random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))


@pytest.mark.parametrize(
    ("given", "inputs", "examples", "is_alone"),
    [
        ("abc", ("text",), [{"text": "abc"}], True),
        (["a", "b"], ("text",), [{"text": "a"}, {"text": "b"}], False),
        (("a", "b"), ("text", "text_pair"), [{"text": "a", "text_pair": "b"}], True),
        (("a", "b"), ("text",), [{"text": "a", "text_pair": "b"}], True),
        ([("a", None)], ("text", "text_pair"), [{"text": "a"}], False),  # as in a table
        ([("a", float("nan"))], ("text",), [{"text": "a"}], False),
        (
            {"text": "a", "choices": ["b", "c"]},
            ("text", "choices"),
            [{"text": "a", "choices": ["b", "c"]}],
            True,
        ),
        ((text for text in "ab"), ("text",), [{"text": "a"}, {"text": "b"}], False),
        ([], ("text",), [], False),
        (tf.constant("abc"), ("text",), [{"text": "abc"}], True),
        (tf.constant(["a", "ü"]), ("text",), [{"text": "a"}, {"text": "ü"}], False),
        (Frame({"text": ["a", "b"], "other": [1, 2]}), ("text",), [{"text": "a"}, {"text": "b"}], False),
        ({"text": ["a", "b"]}, ("text",), [{"text": "a"}, {"text": "b"}], False),
        ([Row(1, "b", "a")], ("text",), [{"Index": 1, "text": "a", "text_pair": "b"}], False),
        (Row(1, "b", "a"), ("text",), [{"Index": 1, "text": "a", "text_pair": "b"}], True),
        (RowOfPandas(text="a", label="b"), ("text",), [{"text": "a"}], True),
        (Name.ONE, ("text",), [{"text": "a"}], True),
        (list(Name), ("text",), [{"text": "a"}, {"text": "b"}], False),
        (
            {"text": Column(["a"]), "choices": [["b", "c"]]},
            ("text", "choices"),
            [{"text": "a", "choices": ["b", "c"]}],
            False,
        ),
    ],
)
def test_examples_of_every_form(given, inputs, examples, is_alone):
    assert to_examples(given, (inputs,))[:2] == (examples, is_alone)


def test_a_row_of_pandas_is_read_as_its_data_frame_is():
    row, dataset = RowOfPandas(sentence="a", source="web"), DatasetConfig(text="sentence")
    assert to_examples(row, (("text",),), dataset)[:2] == ([{"text": "a"}], True)
    column = Column(["a", "b"])
    column.index, column.to_dict = ["id7", "id8"], dict
    assert to_examples(column, (("text",),), dataset)[:2] == ([{"text": "a"}, {"text": "b"}], False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"a"}, "received set"),
        (3, r"received int \(3\); expected a text"),
        (np.array("a"), "received ndarray"),
        (["a", 3], r"examples\[1\] is int \(3\); expected a text \(str\), a pair"),
        ([["a", "b"]], r"examples\[0\] is list .*the key 'text'. A pair is a tuple; .* by .unbatch\(\)"),
        (("a", "b", "c"), "the example is tuple"),
        (
            {"test": Frame({"text": ["a"]})},
            r"received the tables 'test' \(dict\); give one .*data\['test'\]",
        ),
        (
            Frame({"review": ["a"]}),
            r"the data has the columns \['review'\]; expected text\. Rename its columns\.",
        ),
        (Frame({"text": ["a", float("nan")]}), "row 2 of the data has no value in 'text'; fix the row"),
        ({"text": ["a"], "text_pair": ["b", "c"]}, r"different lengths \(1 text, 2 text_pair\)"),
    ],
    ids=repr,
)
def test_anything_else_is_one_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_examples(given, (("text",),))


def test_a_text_alone_and_in_a_list_get_the_answers_of_the_script(classifier):
    texts = ["jump the a", "walk", "jump the a walk talked"]
    listed = classifier.predict(texts)
    expected = [answer for answer in answers(classifier, [{"text": text} for text in texts])]
    assert [{"text": text} | answer for text, answer in zip(texts, listed, strict=True)] == expected
    alone = classifier.predict(texts[1])
    assert alone["label"] == listed[1]["label"] and set(alone) == {"label", "probabilities"}
    assert alone["probabilities"] == pytest.approx(listed[1]["probabilities"], abs=1e-6)
    assert classifier.predict([]) == []
    assert classifier.predict(texts[1], whole_words=False, raw_scores=False) == alone
    with pytest.raises(ValueError, match=r"text has half a surrogate pair \(U\+D83D\), which UTF-8 cannot"):
        classifier.predict(["\ud83d"])
    with pytest.raises(ValueError, match=r"the example: text is 3; expected a text\.$"):
        classifier.predict({"text": 3})


def test_the_outputs_of_a_signature_are_of_texts_in_every_form(classifier):
    predict = classifier.predictor("serving_default")
    texts = ["jump", "walk"]
    expected = predict.outputs(text=texts)["probabilities"]
    np.testing.assert_array_equal(predict.outputs(text=iter(texts))["probabilities"], expected)
    for given, sentence in (("jump", "a list with one entry"), (["jump", None], r"texts\[1\]: text is None")):
        with pytest.raises(ValueError, match=sentence):
            predict.outputs(text=given)


def test_a_table_gets_an_answer_for_each_row_by_the_names_of_the_task_and_of_the_run(finetuned_run):
    loaded, texts = kbert.load(finetuned_run.path), ["jump the a", "walk", "talked"]
    expected = loaded.predict(texts)
    dataset = loaded.run.config.dataset
    assert loaded.predict({dataset.text: texts}) == expected
    assert loaded.predict(Frame({dataset.label: [1, 2, 3], dataset.text: texts})) == expected
    assert loaded.predict(tf.constant(texts)) == expected
    with pytest.raises(ValueError, match="row 2 of the data: text is 3; expected a text"):
        loaded.predict({"text": ["a", 3]})


def test_a_column_that_is_nearly_an_input_is_not_passed_over():
    """A checkpoint that takes texts and pairs would answer the first texts alone."""
    loaded = random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))
    with pytest.raises(ValueError, match="the data has a column 'text_pairs', which is not read"):
        loaded.predict({"text": ["a"], "text_pairs": ["b"]})


def test_a_number_for_one_text_ranks_nothing():
    with pytest.raises(ValueError, match="rank takes one that gives a pair of texts a number"):
        random_task_model(TASKS["sequence_regression"](takes_pairs=False)).rank("jump", ["walk"])


def test_texts_whose_sigmoids_are_equal_are_ranked_by_the_numbers_before_it():
    loaded = random_task_model(TASKS["sequence_regression"](takes_pairs=True, activation="sigmoid"))
    loaded.model.get_layer("classification").dense.bias.assign([40.0])
    texts = ["walk", "the play", "jump the a", "jump", "walk the play"]
    raw, ranked = loaded.rank("jump", texts, raw_scores=True), loaded.rank("jump", texts)
    assert [one["score"] for one in raw] == sorted((one["score"] for one in raw), reverse=True)
    assert min(one["score"] for one in raw) > 20
    assert [one["index"] for one in ranked] == [one["index"] for one in raw]
    assert [one["score"] for one in ranked] == pytest.approx([1.0] * 5, abs=1e-6)
    assert loaded.rank("jump", texts, top_k=2) == ranked[:2]


def test_an_evaluation_in_the_scope_of_several_replicas_is_refused(labelled_files, monkeypatch):
    """Each of them would count every example."""
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: SimpleNamespace(num_replicas_in_sync=2))
    loaded = random_task_model(TASKS["sequence_classification"](["quiet", "loud"]))
    with pytest.raises(ValueError, match=r"of a strategy of 2 replicas.* call it outside of `with"):
        loaded.evaluate(labelled_files[1])


def test_an_encoder_without_a_pooling_ranks_by_the_vectors_that_it_embeds():
    encoder, texts = random_task_model(TASKS["encoder"]()), ["walk", "the play", "jump the a"]
    scores = encoder.similarity(encoder.embed(["jump"]), encoder.embed(texts))[0]
    best = encoder.rank("jump", texts)
    assert [one["score"] for one in best] == pytest.approx(sorted(scores, reverse=True), abs=1e-6)


@pytest.fixture(scope="module", params=["encoder", pytest.param("cosine_similarity", marks=pytest.mark.long)])
def of_vectors(request):
    """A model of vectors, as sentence-transformers folders and runs of similarity are."""
    task = TASKS[request.param](pooling="mean", normalize=False)
    return random_task_model(task, own_pooling=task.pooling)


@pytest.mark.slow
def test_a_pair_has_the_cosine_of_its_vectors_and_texts_are_ranked_by_it(of_vectors):
    texts = ["walk", "the play", "jump the a", "", "jump"]
    first, *vectors = of_vectors.embed(["jump the a", *texts])
    cosines = vectors @ first / np.linalg.norm(vectors, axis=1) / np.linalg.norm(first)
    pairs = of_vectors.predict([("jump the a", text) for text in texts])
    assert [pair["cosine"] for pair in pairs] == pytest.approx(cosines, abs=1e-5)
    assert of_vectors.predict("walk")["embedding"] == pytest.approx(vectors[0], abs=1e-5)
    best = of_vectors.rank(tf.constant("jump the a"), Column(texts), top_k=2)
    order = np.argsort(-cosines, kind="stable")[:2]
    assert [(one["index"], one["text"]) for one in best] == [(index, texts[index]) for index in order]
    assert [one["score"] for one in best] == pytest.approx(cosines[order], abs=1e-5)
    assert best[0]["text"] == "jump the a" and of_vectors.rank("jump", []) == []


class Prompted(TextAnswers):
    """A model whose folder names a similarity and prompts; a vector is the number of characters read."""

    pooling = SimpleNamespace(similarity_fn_name="euclidean", prompts={"query": "q: ", "passage": "text: "})
    serving = SimpleNamespace(one_text_output="embedding")
    task = SimpleNamespace(serving=serving, pooling=pooling, text_vectors=None)

    def embed(self, texts, task):
        prompt = self.pooling.prompts["query" if task == "query" else "passage"]
        return np.float32([[len(prompt + text)] for text in texts])


def test_texts_are_ranked_by_the_similarity_and_the_prompts_of_the_model():
    assert [one["score"] for one in Prompted().rank("abc", ["a", "abcdef"])] == [-1.0, -6.0]


@pytest.mark.long
@pytest.mark.slow
def test_bfloat16_at_load_answers_nearly_alike(finetuned_run):
    exact, rounded = (kbert.load(finetuned_run.path, precision=name) for name in ("float32", "bfloat16"))
    texts = ["jump the a", "walk"]
    for ask in (lambda model: model.embed(texts), lambda model: kbert.FeatureExtractor(model)("walk").values):
        assert 0 < np.abs(ask(exact) - ask(rounded)).max() < 0.1
    for one, other in zip(exact.predict(texts), rounded.predict(texts), strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=0.05)
        assert one["probabilities"] != other["probabilities"]
    with pytest.raises(ValueError, match="precision='float16' is not known; choose one of float32, bfloat16"):
        kbert.load(finetuned_run.path, precision="float16")


@pytest.fixture(scope="module")
def of_choices():
    return random_task_model(TASKS["multiple_choice"](2))


def test_a_choice_is_taken_among_any_number_whatever_the_training_had(of_choices):
    """Each choice is scored by itself, so more of them change no score."""
    texts = ["walk", "jump the", "a"]
    answered = of_choices.predict([{"text": "the", "choices": texts[:number]} for number in (1, 2, 3)])
    for number, answer in enumerate(answered, start=1):
        shares = np.array(answered[2]["probabilities"][:number])
        np.testing.assert_allclose(answer["probabilities"], shares / shares.sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        ({"text": "a", "choices": "bc"}, "choices is 'bc'; expected a list of texts"),
        ({"text": ["a"], "choices": ["b", "c"]}, r"text is \['a'\]; expected a text; .*; join words with"),
        ({"text": "a", "choices": []}, r"choices is \[\]; expected a list of texts"),
    ],
)
def test_a_text_is_no_list_of_texts(of_choices, example, sentence):
    with pytest.raises(ValueError, match=sentence):
        of_choices.predict([example])


def test_one_context_for_several_questions_is_told_of_lists_of_examples_and_not_of_words():
    with pytest.raises(ValueError, match="give several examples in a list, each with all of its inputs.$"):
        require_text("question", ["who?", "when?"])


def test_vectors_are_compared_in_rows_and_nothing_else_is(classifier):
    """A vector alone is a row, by every similarity; texts are no vectors."""
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(3, 5))
    for name, order in (("euclidean", 2), ("manhattan", 1)):
        expected = [[-np.linalg.norm(text - texts[1], ord=order) for text in texts]]
        np.testing.assert_allclose(similarities(texts[1], texts, name), expected, rtol=1e-5, atol=1e-6)
        assert similarities(np.zeros((0, 5)), texts, name).shape == (0, 3)
    for first in (texts[1], texts[1].tolist(), texts[1:2].tolist()):
        assert classifier.similarity(first, texts)[0].argmax() == 1
    assert classifier.similarity([], texts).shape == (0, 3)
    assert classifier.similarity(list(texts), []).shape == (3, 0)
    assert classifier.similarity([], []).shape == (0, 0)
    with pytest.raises(ValueError, match="queries or texts hold NaN or infinity"):
        classifier.similarity([np.nan, *texts[0, 1:]], texts)
    row = sparse.csr_array(texts[:1])
    for wrong in ("a text", ["a", "b"], {"text": "a"}, None, [None], np.array(["a"]), row, [row]):
        with pytest.raises(ValueError, match="queries: received .*; expected vectors, as embed gives them"):
            classifier.similarity(wrong, texts)
    with pytest.raises(ValueError, match="vectors of 4 and of 5 numbers cannot be compared"):
        classifier.similarity([[1.0] * 4], texts)


def test_a_number_of_another_type_is_refused_as_one_out_of_its_bounds(classifier):
    for wrong in ("8", 2.5, True, [1]):
        with pytest.raises(ValueError, match="batch_size=.* must be a whole number, at least 1"):
            kbert.evaluate(classifier, {"text": ["a"], "label": ["loud"]}, batch_size=wrong)
