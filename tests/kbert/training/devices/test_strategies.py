"""One training under every strategy: the same losses, whatever shares out the work and compiles it."""

import json
import signal

import numpy as np
import pytest

from tests.kbert.training.devices.worker_processes import run_workers

PROGRAM = "tests.kbert.training.devices.strategy_losses"
# Name -> (devices of a process, processes).
STRATEGIES = {"one_device": (0, 1), "mirrored": (2, 1), "multi_worker": (0, 2)}
CLIPPED = {"dropout": 0.0, "clipnorm": 0.1, "learning_rate": 5e-3}
WHOLE = CLIPPED | {"num_steps": 20}
FITTED = {"keras_fit": 1, "num_steps": 3}
IN_MICRO_BATCHES = WHOLE | {"gradient_accumulation_steps": 2}


def losses(num_workers, *orders):
    """The answers to (strategy, devices, cases); the losses must be the same on all workers."""
    answers = run_workers(num_workers, PROGRAM, json.dumps(orders))
    answers = [json.loads(answer.splitlines()[-1]) for answer in answers]
    for number in range(len(orders)):
        of_workers = [answer[number] for answer in answers]
        assert [answer.pop("is_chief") for answer in of_workers] == [True] + [False] * (num_workers - 1)
        assert all(answer == of_workers[0] for answer in of_workers)
    return answers[0]


@pytest.fixture(scope="module")
def one_process():
    """20 clipped steps: of two replicas with two micro-batches each, and of one with whole batches.

    Before and after them Keras's `fit` of another model, on four devices, on one and on two.
    """
    return losses(
        1,
        ("mirrored", 4, {"fitted": FITTED}),
        ("mirrored", 2, {"losses": IN_MICRO_BATCHES}),
        ("one_device", 0, {"losses": WHOLE, "fitted": FITTED}),
        ("mirrored", 2, {"fitted": FITTED}),
    )


@pytest.mark.slow
def test_replicas_and_micro_batches_take_the_steps_of_one_device(one_process):
    _, two, one, _ = one_process
    assert two["num_replicas"] == 2
    assert one["losses"][-1][0] < 0.9 * one["losses"][0][0]
    np.testing.assert_allclose(two["losses"], one["losses"], atol=1e-4)
    assert two["replicas_agree"]


@pytest.mark.slow
def test_a_process_fits_on_several_devices_as_often_as_it_likes(one_process):
    """Keras adds up the gradients of replicas, and multiplies the loss that it logs by their number."""
    four, _, one, two = one_process
    assert [answer["num_replicas"] for answer in (four, one, two)] == [4, 1, 2]
    for answer in (four, two):
        np.testing.assert_allclose(answer["fitted"], one["fitted"], atol=1e-5)
    assert one["fitted"][0][2] < one["fitted"][0][0]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, {"jit_compile": True}, {"dtype": "mixed_float16"}], ids=str)
def test_in_batch_negatives_are_those_of_the_global_batch(settings):
    cases = {"coupled": CLIPPED | settings | {"num_steps": 3, "in_batch_negatives": 1}}
    two, one = losses(1, ("mirrored", 2, cases), ("one_device", 0, cases))
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if "dtype" in settings else {"rtol": 1e-4, "atol": 2e-5}
    (evaluated, values), (expected, expected_values) = two["coupled"], one["coupled"]
    np.testing.assert_allclose(values, expected_values, **tolerance)
    assert dict(evaluated) == pytest.approx(dict(expected), rel=tolerance["rtol"])
    assert max(norm for _, norm in expected_values) > 0.1  # clipped: a wrong sum would show


@pytest.mark.slow
@pytest.mark.long
def test_workers_take_the_steps_of_one(one_process):
    (answer,) = losses(2, ("multi_worker", 0, {"losses": IN_MICRO_BATCHES}))
    assert answer["num_replicas"] == 2
    assert answer["agreed"] == [[0, False], [signal.SIGTERM, False], [0, True]]
    np.testing.assert_allclose(answer["losses"], one_process[2]["losses"], atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_neither_xla_nor_precision_nor_strategy_changes_what_is_learnt(name, one_process):
    """The matrix of strategy x XLA x precision, with micro-batches in float16."""
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
    num_devices, num_workers = STRATEGIES[name]
    (answer,) = losses(num_workers, (name, num_devices, cases))
    expected = one_process[2]["losses"][:4]
    for case in cases:
        tolerance = 1e-4 if case.startswith("float32") else 0.03
        np.testing.assert_allclose(answer[case], expected, atol=tolerance, err_msg=case)
        assert case.startswith("float32") or answer[case] != expected
