"""In-batch negatives are those of the global batch: two replicas learn what one device learns."""

import json

import numpy as np
import pytest

from tests.kbert.training.devices.worker_processes import run_workers

pytestmark = [pytest.mark.slow, pytest.mark.long]

PROGRAM = "tests.kbert.training.devices.coupled_losses"
CASES = {"float32": {}, "XLA": {"jit_compile": True}, "float16": {"dtype": "mixed_float16"}}


@pytest.fixture(scope="module", params=CASES)
def answers(request):
    """(case, what the training on two replicas said, what that on one device said)."""
    (answer,) = run_workers(1, PROGRAM, json.dumps({request.param: CASES[request.param]}))
    (said,) = json.loads(answer.splitlines()[-1]).values()
    assert (said["2"].pop("num_replicas"), said["1"].pop("num_replicas")) == (2, 1)
    return request.param, said["2"], said["1"]


def test_two_replicas_take_the_steps_of_one_device(answers):
    case, two, one = answers
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if case == "float16" else {"rtol": 1e-4, "atol": 2e-5}
    for name in ("losses", "accuracies", "gradient_norms"):
        np.testing.assert_allclose(two[name], one[name], **tolerance, err_msg=name)
    assert two["evaluation"] == pytest.approx(one["evaluation"], rel=tolerance["rtol"])
    for name, value in one["weights"].items():
        np.testing.assert_allclose(two["weights"][name], value, **tolerance, err_msg=name)
    assert max(one["gradient_norms"]) > 0.1  # clipped: a wrong sum would show
