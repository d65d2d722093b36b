"""Agreement and differences by hand, and the median of timed calls with a clock of the test's own."""

import numpy as np
import pytest

from export.litert import latency
from export.litert.comparison import Answered, answers_to, compare, keras_answers, metrics_of
from export.litert.comparison_data import ComparisonData
from kbert.reports.page import write_page
from kbert.tasks import TASKS
from kbert.tokenization.text_inputs import TextInputs
from tests.html_checks import read_page
from tests.kbert.inference.random_model import random_task_model

TASK = TASKS["sequence_classification"](("quiet", "loud"))
LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.25], [-4.0, 3.0]], np.float32)


def rows(numbers):
    """Rows whose first id says which row of LOGITS they are."""
    ids = np.array(numbers, np.int32)[:, None]
    return ComparisonData("rows", {"input_ids": ids, "input_mask": ids * 0 + 1, "segment_ids": 0 * ids})


def answered(logits, data):
    def answer(inputs):
        found = logits[inputs["input_ids"][:, 0]]
        return {"logits": found, "probabilities": found / 10}

    return answers_to(TASK, answer, data)


def test_agreement_and_differences_by_hand():
    data, other = rows([0, 1, 2, 3]), LOGITS.copy()
    other[0, 0] += 0.25  # the same label
    other[2, 1] += 0.5  # another one
    found = compare(TASK, answered(other, data), answered(LOGITS, data), data)
    assert (found["num_answers"], found["agreement"], found["max_difference"]) == (4, 0.75, 0.5)
    by_row = [0.25, 0.0, 0.5, 0.0]
    assert found["differences"]["logits"] == pytest.approx(
        {"median": 0.125, "p90": np.quantile(by_row, 0.9), "p99": np.quantile(by_row, 0.99), "max": 0.5}
    )
    assert found["relative_difference"] == pytest.approx(0.5 / 4)  # of the largest logit, which is -4
    same = compare(TASK, answered(LOGITS, data), answered(LOGITS, data), data)
    assert same["agreement"] == 1.0 and same["max_difference"] == 0.0


def test_of_vectors_the_lowest_cosines_are_told():
    task, data = TASKS["encoder"]("mean"), rows([0, 1, 2, 3])
    vectors = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, -2.0], [1.0, 1.0]], np.float32)
    turned = np.array([[5.0, 0.0], [4.0, 3.0], [0.0, -2.0], [1.0, -1.0]], np.float32)  # cosines 1, .96, 1, 0

    def said(values):
        return answers_to(task, lambda ids: {"embedding": values[ids["input_ids"][:, 0]]}, data)

    found = compare(task, said(turned), said(vectors), data)
    assert found["agreement"] == 0.5  # .96 is not the same vector
    assert found["cosine"] == pytest.approx(
        {"min": 0.0, "p1": 0.03 * 0.96, "p10": 0.3 * 0.96, "median": 0.98}, abs=1e-6
    )
    assert "cosine" not in compare(TASK, answered(LOGITS, data), answered(LOGITS, data), data)


def test_keras_answers_in_parts_what_it_answers_at_once():
    loaded = random_task_model(TASK)
    text_inputs = TextInputs(loaded.vocabulary, 12)
    inputs = {
        name: values.numpy()
        for name, values in text_inputs([f"jump {'the ' * n}" for n in range(70)]).items()
    }
    answer = keras_answers(TASK, loaded.model, text_inputs, "random")
    found, expected = answer(inputs), loaded.model(inputs, training=False)
    assert found.keys() == {"logits", "probabilities"}
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], atol=1e-6)


def test_a_score_that_is_undefined_is_said_so(tmp_path):
    task = TASKS["sequence_regression"]()
    batch = rows([0, 1, 2]).rows | {"targets": np.ones(3, np.float32)}  # a constant
    data = ComparisonData("rows", batch, [None] * 3, np.arange(3))
    said = Answered(*[{"prediction": LOGITS[:3, 0]}] * 2)
    metrics = metrics_of(task, said, data)
    assert metrics["pearson"] is None and metrics["loss"] == pytest.approx((1 + 1 + 0.25) / 3)
    report = compare(task, said, said, data) | {"metrics": metrics, "ops": {"ADD": 3}, "lengths": [16]}
    report |= {"bytes": 1_250_000, "compared_on": "<rows>", "latency_ms": {"16": {"1": 2.5, "2": 1.25}}}
    path = tmp_path / "report.html"
    values = {"reports": {"float16": report}, "keras_metrics": metrics, "best": "pearson"}
    write_page(path, "litert.html", title="a", **values)
    page = read_page(path)
    assert "<h1>a</h1>" in page and "<title>a</title>" in page
    for shown in ("undefined", "1.25", "100.00%", "2.50", "&lt;rows&gt;", "ADD", "0.7500"):
        assert shown in page, shown


class FakeModel:
    """Every call takes as long as the next of `seconds`, on a clock of its own."""

    def __init__(self, seconds):
        self.seconds, self.now, self.calls = seconds, 0.0, []

    def input_shape(self, length):
        return (1, length)

    def run(self, row, length):
        self.calls.append({name: value.sum() for name, value in row.items()})
        self.now += self.seconds[min(len(self.calls), len(self.seconds)) - 1]

    def clock(self):
        return self.now


def test_the_median_leaves_out_the_first_calls_and_stops_in_time():
    model = FakeModel([9.0, 9.0, 0.125, 0.5, 0.25])
    assert latency._median_seconds(model, 6, model.clock) == 0.25
    assert model.calls[0] == {"input_ids": 6, "input_mask": 6, "segment_ids": 0}, "a full row"
    assert len(model.calls) == 3 + 12  # 1.5 seconds of the fastest, 0.125
    quick = FakeModel([1e-4])
    latency._median_seconds(quick, 6, quick.clock)
    assert len(quick.calls) == 3 + 50
    slow = FakeModel([2.0])
    latency._median_seconds(slow, 6, slow.clock)
    assert len(slow.calls) == 3 + 5
