"""One training under every strategy: the same losses, whatever shares out the work and compiles it."""

import json

import numpy as np
import pytest

from tests.kbert.training.devices.worker_processes import run_workers

PROGRAM = "tests.kbert.training.devices.strategy_losses"
# Name -> (strategy, devices of a process, processes).
STRATEGIES = {
    "one_device": ("one_device", 0, 1),
    "mirrored": ("mirrored", 2, 1),
    "multi_worker": ("multi_worker", 0, 2),
}
CLIPPED = {"dropout": 0.0, "clipnorm": 0.1, "learning_rate": 5e-3}


def losses(strategy, num_devices, num_workers, cases):
    """What every worker prints; the losses must be the same on all."""
    answers = run_workers(num_workers, PROGRAM, strategy, str(num_devices), json.dumps(cases))
    answers = [json.loads(answer.splitlines()[-1]) for answer in answers]
    assert [answer.pop("is_chief") for answer in answers] == [True] + [False] * (num_workers - 1)
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


@pytest.fixture(scope="module")
def one_device():
    """50 clipped steps, and the same with each batch in four parts."""
    cases = {
        "whole": CLIPPED | {"num_steps": 50},
        "parts": CLIPPED | {"num_steps": 50, "gradient_accumulation_steps": 4},
    }
    return losses(*STRATEGIES["one_device"], cases)


@pytest.mark.slow
def test_parts_of_a_batch_take_the_steps_of_the_whole(one_device):
    assert one_device["whole"][-1][0] < 0.6 * one_device["whole"][0][0]
    np.testing.assert_allclose(one_device["parts"], one_device["whole"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [2, 4])
def test_replicas_take_the_steps_of_one(one_device, num_devices):
    answer = losses("mirrored", num_devices, 1, {"whole": CLIPPED | {"num_steps": 50}})
    assert answer["num_replicas"] == num_devices
    np.testing.assert_allclose(answer["whole"], one_device["whole"], atol=1e-4)


@pytest.mark.slow
def test_workers_take_the_steps_of_one(one_device):
    cases = {
        "whole": CLIPPED | {"num_steps": 50},
        "parts": CLIPPED | {"num_steps": 10, "gradient_accumulation_steps": 2},
    }
    answer = losses(*STRATEGIES["multi_worker"], cases)
    assert answer["num_replicas"] == 2
    np.testing.assert_allclose(answer["whole"], one_device["whole"], atol=1e-4)
    np.testing.assert_allclose(answer["parts"], one_device["whole"][:10], atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_neither_xla_nor_precision_nor_strategy_changes_what_is_learnt(name, one_device):
    """The matrix of strategy x XLA x precision, with parts in float16."""
    cases = {
        f"{precision} {jit_compile}": CLIPPED
        | {
            "dtype": precision,
            "jit_compile": jit_compile,
            "num_steps": 4,
            "gradient_accumulation_steps": 2 if precision == "mixed_float16" else 1,
        }
        for precision in ("float32", "mixed_bfloat16", "mixed_float16")
        for jit_compile in (False, True)
    }
    answer = losses(*STRATEGIES[name], cases)
    for case in cases:
        tolerance = 1e-4 if case.startswith("float32") else 0.03
        np.testing.assert_allclose(answer[case], one_device["whole"][:4], atol=tolerance, err_msg=case)
        assert case.startswith("float32") or answer[case] != one_device["whole"][:4]
