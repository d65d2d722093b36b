"""The check of an export refuses what differs from Keras, and nothing that is rounding."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from export.gate import answer_check
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import texts_signature
from kbert.tasks.sparse_embedding.sparse_serving import SparseServing
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS


def loaded_with(special_tokens):
    vocabulary = SimpleNamespace(special_tokens=special_tokens)
    text_inputs = SimpleNamespace(vocabulary=vocabulary, max_seq_length=512)
    return SimpleNamespace(text_inputs=text_inputs, config=SimpleNamespace(vocab_size=6))


def check(served, expected, serving=Serving):
    """The differences between what an exported model says and what Keras says, name -> list."""
    keras_says = {name: tf.constant(value) for name, value in expected.items()}
    signature = texts_signature(("text",), lambda text: keras_says)
    served = {name: np.array(value, keras_says[name].dtype.as_numpy_dtype) for name, value in served.items()}
    model = SimpleNamespace(
        trained_signatures={"serving_default": signature},
        source="model",
        loaded=loaded_with(BERT_TOKENS),
        task=SimpleNamespace(
            serving=serving(SimpleNamespace(pooling=SimpleNamespace(max_active_dims=3))),
            row_length=lambda length: length,
        ),
    )
    session = SimpleNamespace(run=lambda *asked: served)
    return answer_check.check_answers(model, session, 1e-5)


def questions(in_windows, examples=()):
    """The inputs that a model is asked with."""
    signatures = {"serving_default": texts_signature(("text",), None)}
    task = SimpleNamespace(serving=SimpleNamespace(in_windows=in_windows), row_length=lambda length: length)
    model = SimpleNamespace(trained_signatures=signatures, loaded=loaded_with(ROBERTA_TOKENS), task=task)
    return [inputs for _, inputs in answer_check._questions(model, examples)]


def test_a_model_is_asked_to_fill_its_own_mask_token():
    inputs, with_long = questions(in_windows=False)
    assert "with <mask> and" in inputs["text"][1]
    # Keras reads each text of a batch as long as the longest.
    assert max(map(len, inputs["text"])) < 50 and len(with_long["text"]) == 2


def test_examples_in_many_windows_are_asked_a_few_at_a_time():
    """All windows of a call lie in memory together, in the graph as in Keras."""
    examples = [{"text": "a" * 21_000}] * 6 + [{"text": "a"}] * 34
    for in_windows, sizes in ((False, [32, 8]), (True, [32, 3, 3, 2])):
        asked = [inputs["text"] for inputs in questions(in_windows, examples)[2:]]
        assert [len(texts) for texts in asked] == sizes
        assert sorted(text for texts in asked for text in texts) == sorted(row["text"] for row in examples)


NAN = float("nan")


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        ([0.5, 0.500009], [0.5, 0.5]),
        ([8.0, -0.00007], [8.0, 0.0]),  # rounding is of the size of the output's largest number
        ([-1e9 * (1 + 1e-6), 0.1], [-1e9, 0.1]),  # no answer: compared by its size
    ],
)
def test_rounding_passes(served, expected):
    found = check({"scores": served}, {"scores": expected})
    assert 0 < found["mean_difference"] < found["max_difference"] < 1e-4 and found["answers_agree"] is None


@pytest.mark.parametrize(
    ("served", "expected", "message"),
    [
        (
            [0.5, 0.50002],
            [0.5, 0.5],
            "numbers of scores of the signature serving_default differ by up to 2e-05",
        ),
        ([-1e9, 0.1001], [-1e9, 0.1], "differ by up to 0.0001, more than 1e-05"),
        ([NAN, 0.1], [0.1, 0.1], "differ by up to nan"),
        ([0.1, 0.1], [NAN, 0.1], r"gives numbers that are not finite .* texts\[0\]"),
        ([0.1], [0.1, 0.1], r"gives scores \[1\], but the Keras model gives scores \[2\]"),
        ([True, False], [True, True], "scores of the signature serving_default. Nothing was exported"),
    ],
)
def test_a_difference_is_refused(served, expected, message):
    with pytest.raises(ValueError, match=message):
        check({"scores": served}, {"scores": expected})


def test_each_output_has_its_own_bound():
    """Probabilities are not compared loosely because logits stand beside them."""
    with pytest.raises(ValueError, match="numbers of probabilities"):
        check({"logits": [9.0], "probabilities": [0.50005]}, {"logits": [9.0], "probabilities": [0.5]})


def test_the_report_tells_the_mean_and_how_many_answers_are_equal():
    numbers, labels = [[0.5, 0.500004]] * 4, ["a", "b", "c", "d"]
    found = check(
        {"scores": numbers, "label": [b"a", b"b", b"b", b"d"], "truncated": [True] * 4},
        {"scores": [[0.5, 0.5]] * 4, "label": labels, "truncated": [True] * 4},
    )
    assert found["max_difference"] == pytest.approx(4e-6, rel=0.05)
    assert found["mean_difference"] == pytest.approx(2e-6, rel=0.05)
    assert (found["answers_agree"], found["answers_compared"]) == (0.75, 8)  # two batches


def test_sparse_vectors_are_compared_word_by_word():
    keras = {"indices": [[4, 1, 2]], "weights": [[0.9, 0.500001, 0.5]]}
    for rounding in ([[4, 2, 1]], [[4, 1, 3]]):  # two places change, or the last word is another
        served = {"indices": rounding, "weights": [[0.9, 0.500002, 0.5]]}
        found = check(served, keras, SparseServing)
        assert found["answers_agree"] is None and found["max_difference"] < 5e-6
    attention = {"attention": [[0.5]]}
    assert check(attention, attention, SparseServing)["max_difference"] == 0
    with pytest.raises(ValueError, match="vectors of the signature"):
        check({"indices": [[1, 4, 2]], "weights": keras["weights"]}, keras, SparseServing)
