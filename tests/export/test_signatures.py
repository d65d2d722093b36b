"""Every head's signatures: texts, token ids and tf.Examples agree, and so does what is exported of them.

They are asked in Python, op by op. One head is exported here; tests/kbert/experiments exports trained ones.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from export.gate.signature_inputs import make_inputs
from export.serving_model import ServingModel
from kbert.features import ENCODER_INPUTS
from kbert.tasks import TASKS
from kbert.tasks.encoding import Encoding
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.sequences.multiple_choice import MultipleChoice
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tasks.signatures.signature import TRUNCATED
from tests.conftest import mostly_long
from tests.export import signatures_page
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.usefixtures("eager")

# Of 4, 0, 45 and 2 pieces with the mask; a row takes 22 beside [CLS] and [SEP], or 21 of a pair.
TEXTS = ["[MASK] jump the a", "", "[MASK]" + " walked and talked, opening the play." * 4, "[MASK] turn"]
ALONE, PAIRS, NONE = [False, False, True, False], [False, True, True, False], [False] * 4
LABELS = ("quiet", "loud", "other")


class Case(NamedTuple):
    """What a head must have.

    Fields:
      task: the task.
      truncated: for each signature that takes texts, which of TEXTS (and their reverse) are cut.
      by_ids: signature of texts -> the one that gives the same by ids.
      examples: signature of tf.Examples -> (the one of texts, its output).
    """

    task: Any
    truncated: dict[str, list[bool]]
    by_ids: dict[str, str] = {"serving_default": "ids"}
    examples: dict[str, tuple[str, str]] = {}


FILLED = {"serving_default": ALONE, "candidates": ALONE}
BOTH_OBJECTIVES = (
    FILLED | {"next_sentence": PAIRS},
    {"serving_default": "ids", "next_sentence": "next_sentence_ids"},
)
ONE_OR_TWO = {"serving_default": ALONE, "pair": PAIRS}
CLASSIFY = {
    "classify": ("serving_default", "probabilities"),
    "classify_pair": ("pair", "probabilities"),
}
REGRESS = {"regress": ("serving_default", "prediction")}
COSINE = ({"serving_default": PAIRS, "embedding": ALONE}, {"embedding": "ids"})
LATE = {
    "dense": [{"units": 6, "activation": "Identity", "use_bias": False}],
    "query_expansion": {"length": 8},
    "skiplist_words": ["the"],
}
CASES = {
    "masked_lm": Case(TASKS["masked_lm"](), FILLED),
    "pretraining": Case(TASKS["pretraining"](), *BOTH_OBJECTIVES),
    "sentence_order": Case(TASKS["sentence_order"](), *BOTH_OBJECTIVES),
    "next_sentence": Case(TASKS["next_sentence"](), {"serving_default": PAIRS}),
    "sequence_classification": Case(SequenceClassification(LABELS), ONE_OR_TWO, examples=CLASSIFY),
    "windows": Case(
        SequenceClassification(LABELS, takes_pairs=False, long_texts="windows"),
        {"serving_default": NONE},
        {},
        {"classify": CLASSIFY["classify"]},
    ),
    "multi_label_classification": Case(
        TASKS["multi_label_classification"](LABELS), ONE_OR_TWO, examples=CLASSIFY
    ),
    "sequence_regression": Case(
        SequenceRegression(takes_pairs=True), {"serving_default": PAIRS}, examples=REGRESS
    ),
    "multiple_choice": Case(
        MultipleChoice(), {"serving_default": ALONE}, examples={"classify": CLASSIFY["classify"]}
    ),
    "token_classification": Case(
        TASKS["token_classification"](("O", "B-PER", "I-PER")), {"serving_default": NONE, "words": NONE}, {}
    ),
    "bilstm": Case(
        TASKS["token_classification"](("O", "B-PER"), head="bilstm", layers="embeddings", lstm_size=8),
        {"serving_default": NONE, "words": NONE},
        {},
    ),
    "question_answering": Case(
        QuestionAnswering(max_query_length=6, doc_stride=7, unanswerable=True), {"serving_default": ALONE}, {}
    ),
    "encoder": Case(Encoding("mean"), {"serving_default": ALONE, "cosine": PAIRS}),
    "cosine_similarity": Case(TASKS["cosine_similarity"](pooling="cls"), *COSINE),
    "multiple_negatives_ranking": Case(TASKS["multiple_negatives_ranking"](pooling="max"), *COSINE),
    "sparse_embedding": Case(TASKS["sparse_embedding"](), {"serving_default": ALONE}),
    "late_interaction": Case(
        TASKS["late_interaction"](LATE),
        {"serving_default": PAIRS, "query": ALONE, "document": ALONE},
        {"document": "ids"},
    ),
}


class Asked:
    """A model of random weights and its signatures; each answers TEXTS once for all tests."""

    def __init__(self, case: Case):
        self.case, self.loaded = case, random_task_model(case.task)
        self.signatures = ServingModel(self.loaded).signatures
        self.answer = functools.cache(lambda name: self.run(name, self.inputs(name)))

    def inputs(self, name):
        return make_inputs(self.signatures[name], TEXTS, self.loaded.text_inputs)

    def run(self, name, inputs):
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in self.signatures[name].function(**tensors).items()}


# These are answered by code of which another case has all.
_TWINS = {"masked_lm", "sentence_order", "bilstm", "multiple_negatives_ranking"}


@pytest.fixture(scope="module", params=mostly_long(sorted(CASES), CASES.keys() - _TWINS))
def asked(request):
    return Asked(CASES[request.param])


def tokenized(loaded, texts):
    """The inputs of a signature of texts as those of the one by ids, made as a client would."""
    if "choices" in texts:
        number = texts["choices"].shape[1]
        rows = loaded.inputs(np.repeat(texts["text"], number), texts["choices"].ravel())
        return {name: tf.reshape(v, (len(TEXTS), number, -1)).numpy() for name, v in rows.items()}
    strings = [value for value in texts.values() if value.dtype == object]
    with_masks = "top_k" in texts
    ids = {name: v.numpy() for name, v in loaded.inputs(*strings, with_masks=with_masks).items()}
    return ids | {name: value for name, value in texts.items() if value.dtype != object}


def same(found, expected):
    assert found.keys() == expected.keys() and found
    for name, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[name], value, atol=1e-5)
        else:
            np.testing.assert_array_equal(found[name], value)


def test_every_task_is_in_the_table():
    tasks = {case.task.name for case in CASES.values()}
    assert tasks == {name for name in TASKS if TASKS[name].serving_class or name == "encoder"}


def test_the_signatures_are_known(asked):
    by_ids = {name for name in asked.signatures if name.endswith("ids")}
    assert by_ids == set(asked.case.by_ids.values()) | {"ids"}
    assert set(asked.signatures) == {*asked.case.truncated, *by_ids, *asked.case.examples}


@pytest.mark.long
def test_texts_that_are_cut_are_told(asked):
    for name, expected in asked.case.truncated.items():
        assert asked.answer(name)[TRUNCATED].tolist() == expected, name


def test_the_page_says_what_there_is(asked):
    """Names, dtypes and axes of docs/signatures.md; `text_pair` is for pairs alone."""

    def of(arrays):
        return {name: (v.dtype.name.replace("object", "string"), v.ndim) for name, v in arrays.items()}

    page = signatures_page.signatures_of(asked.case.task.name)
    for name in asked.signatures:
        inputs, (says, gives) = asked.inputs(name), page[name]
        answer = asked.answer(name)
        assert of(answer) == gives, name
        strings_and_settings = {key: v for key, v in inputs.items() if key not in ENCODER_INPUTS}
        assert says | of(strings_and_settings) == says and says.keys() - inputs.keys() <= {"text_pair"}
        assert {len(value) for value in answer.values()} == {len(TEXTS)}


def test_the_requests_of_the_page_name_inputs_that_there_are():
    pages = [signatures_page.signatures_of(name) for name in TASKS]
    for request in signatures_page.requests():
        name = request.get("signature_name", "serving_default")
        inputs = [set(page[name][0]) for page in pages if name in page]
        (given,) = (request[form] for form in ("instances", "inputs", "examples") if form in request)
        if "examples" in request:
            assert given[0].keys() <= {"text", "text_pair", "choices"} and {"inputs"} in inputs
        elif isinstance(given, dict) or isinstance(given[0], dict):
            named = set(given if isinstance(given, dict) else given[0])
            assert named - set(ENCODER_INPUTS) in inputs
        else:
            assert any(len(names - {"text_pair"}) == 1 for names in inputs)


def test_ids_are_answered_as_texts_are(asked):
    """No choice text: ids do not say what it is."""
    for of_texts, of_ids in asked.case.by_ids.items():
        texts, expected = asked.inputs(of_texts), asked.answer(of_texts)
        expected = {name: v for name, v in expected.items() if name not in (TRUNCATED, "choice_text")}
        same(asked.run(of_ids, tokenized(asked.loaded, texts)), expected)


def test_ids_are_answered_as_the_keras_model_does(asked):
    ids = asked.inputs("ids")
    if "masked_lm_positions" in asked.loaded.model.input:
        return  # asked for whole texts above; the model itself wants positions
    by_name = {name: ids[name] for name in ("input_ids", "input_mask", "segment_ids")}
    if asked.case.task.texts_per_example > 1:
        by_name = {name: value[:, np.newaxis] for name, value in by_name.items()}
    outputs, answer = asked.loaded.model(by_name, training=False), asked.answer("ids")
    for name in outputs.keys() & answer.keys():
        expected = outputs[name].numpy()
        along = answer[name].shape[:2] == ids["input_mask"].shape
        if along and answer[name].ndim > 1 and asked.case.task.name.startswith(("token", "question")):
            padding = ids["input_mask"] == 0
            assert padding.any() and (answer[name][padding] == 0).all()
            expected = np.where(padding.reshape(padding.shape + (1,) * (expected.ndim - 2)), 0, expected)
        np.testing.assert_allclose(answer[name], expected, atol=1e-5)


def test_examples_are_answered_as_texts_are(asked):
    """The outputs that TensorFlow Serving's Classify and Regress ask for, and no other."""
    for name, (of_texts, output) in asked.case.examples.items():
        texts = asked.inputs(of_texts)
        expected, answer = asked.answer(of_texts)[output], asked.answer(name)
        if output == "prediction":
            same(answer, {"outputs": expected})
        else:
            labels = getattr(asked.case.task, "labels", None) or texts["choices"]
            classes = np.broadcast_to(np.array(labels, object), expected.shape)
            same(answer, {"classes": np.char.encode(classes.astype(str), "utf-8"), "scores": expected})


IDS = {"input_ids": [[2, 5, 3]], "input_mask": [[1, 1, 1]], "segment_ids": [[0, 0, 0]]}


@pytest.mark.parametrize("asked", ["sequence_classification"], indirect=True)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_ids": [[2, 22, 3]]},
            r"input_ids must be numbers from 0 to 21; .* from\] \[2\] \[to\] \[22\]",
        ),
        ({"input_ids": [[2, -1, 3]]}, "input_ids must be numbers from 0"),
        ({"segment_ids": [[0, 0, 2]]}, "segment_ids must be numbers from 0 to 1"),
        ({"input_mask": [[1, 2, 0]]}, "input_mask must be numbers from 0 to 1"),
        ({"input_mask": [[0, 1, 1]]}, "input_mask must be 1 at the first position"),
        ({"input_mask": [[1, 1]]}, r"must have the same shape; received\] \[1 3\] \[1 2\] \[1 3\]"),
        ({name: [[1] * 33] for name in IDS}, r"must have 1 to 32 positions; received\] \[33\]"),
        ({name: [[]] for name in IDS}, "must have 1 to 32 positions"),
    ],
)
def test_ids_that_mean_nothing_are_an_invalid_argument(asked, changes, message):
    assert len(asked.loaded.vocabulary) == 22 and asked.loaded.config.max_position_embeddings == 32
    as_arrays = {name: np.array(value, np.int32) for name, value in (IDS | changes).items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        asked.run("ids", as_arrays)
    whole = {name: np.array(value, np.int32) for name, value in IDS.items()}
    assert np.isfinite(asked.run("ids", whole)["logits"]).all()


@pytest.mark.parametrize("asked", ["multiple_choice"], indirect=True)
def test_no_choices_are_an_invalid_argument(asked):
    inputs = asked.inputs("serving_default")
    inputs["choices"] = inputs["choices"][:, :0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="choices must have one text or more"):
        asked.run("serving_default", inputs)


@pytest.mark.parametrize("asked", ["multiple_choice", "sparse_embedding"], indirect=True)
def test_no_rows_get_no_answers(asked):
    none = {key: value[:0] for key, value in asked.inputs("serving_default").items()}
    expected, found = asked.answer("serving_default"), asked.run("serving_default", none)
    assert {key: value.shape for key, value in found.items()} == {
        key: (0, *value.shape[1:]) for key, value in expected.items()
    }
