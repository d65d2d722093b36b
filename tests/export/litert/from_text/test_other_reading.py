"""Which texts another tokenizer reads otherwise, and what that does to answers, by hand."""

import numpy as np

from export.litert.comparison import predict_rows
from export.litert.comparison_data import ComparisonData
from export.litert.from_text.other_reading import (
    read_otherwise,
    reading_quality,
    texts_by_row,
)
from kbert.features import LABEL_FEATURE
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks import TASKS
from kbert.tasks.similarity.text_groups import TextGroup

TASK = TASKS["sequence_classification"](("quiet", "loud"))
TOKENS = ["[PAD]", "zero", "one", "two", "three", "other"]
IS_B_OR_D = {"it is b": lambda text: text == "b", "it is d": lambda text: text == "d"}
EXAMPLES = [LabelledText(text, None, "loud" if text in "bd" else "quiet") for text in "abcd"]


def inputs_of(ids):
    ids = np.array(ids, np.int32)
    return {"input_ids": ids, "input_mask": (ids > 0).astype(np.int32), "segment_ids": 0 * ids}


def rows(examples=None):
    """Four rows, whose second id is one more than the number of the row."""
    features = inputs_of([[1, number + 1] for number in range(4)])
    features[LABEL_FEATURE] = np.array([0, 1, 0, 1], np.int32)
    return ComparisonData("rows", features, examples, None if examples is None else np.arange(4))


def read(texts):
    """Reads b and d otherwise."""
    return inputs_of([[1, 5 if text in "bd" else "abcd".index(text) + 1] for (text,) in texts])


class Model:
    """Label 1 for odd ids, 0 for even ones."""

    rows = 0

    def answer_ids(self, inputs):
        self.rows += len(inputs["input_ids"])
        second = inputs["input_ids"][:, 1] % 2 * 6.0 - 3.0
        logits = np.stack([-second, second], axis=1).astype(np.float32)
        return {"logits": logits, "probabilities": np.asarray(TASK.temperature.probabilities(logits))}


def test_texts_read_otherwise_and_what_it_does():
    data = rows(EXAMPLES)
    texts = texts_by_row(TASK, data)
    assert texts == [("a",), ("b",), ("c",), ("d",)]
    reading = read_otherwise("Somebody", read, texts, data, TOKENS, IS_B_OR_D)
    assert reading.changed.tolist() == [False, True, False, True]
    assert (reading.report["num_texts"], reading.report["read_alike"]) == (4, 2)
    assert reading.report["read_otherwise"] == [
        {"place": 1, "text": "b", "reasons": ["it is b"], "expected": "one", "read": "other"},
        {"place": 3, "text": "d", "reasons": ["it is d"], "expected": "three", "read": "other"},
    ]
    assert reading.data.rows["input_ids"].tolist() == [[1, 1], [1, 5], [1, 3], [1, 5]]
    assert reading.first_rows(2)["input_ids"].tolist() == [[1, 1], [1, 5]]
    assert LABEL_FEATURE in reading.data.rows

    model = Model()
    exact = predict_rows(TASK, model.answer_ids, data)
    quality = reading_quality(TASK, model, reading, exact, exact)
    assert model.rows == 4 + 2, "rows that are read alike are not asked again"
    # Ids 1, 2, 3, 4 have the labels 1, 0, 1, 0; read as 5, rows 1 and 3 have label 1, which is right.
    assert quality["agreement"] == 0.5 and quality["metrics"]["accuracy"] == 0.5


def test_texts_of_a_ranking_stand_behind_their_prompts():
    task = TASKS["multiple_negatives_ranking"]({"prompts": {"query": "q ", "document": "d "}})
    ids = np.zeros((2, 2, 3), np.int32)
    examples = [TextGroup(("a", "b"), None), TextGroup(("a", "b"), 1.0)]
    data = ComparisonData("rows", {"input_ids": ids}, examples, np.arange(2))
    assert texts_by_row(task, data) == [("q a",), ("d b",), ("a",), ("b",)]
