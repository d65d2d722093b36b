"""One training under every strategy: the same losses, whatever shares out the work and compiles it."""

import json

import ml_dtypes
import numpy as np
import pytest

from tests.kbert.training.devices.worker_processes import run_workers

PROGRAM = "tests.kbert.training.devices.strategy_losses"
# Name -> (devices of a process, processes).
STRATEGIES = {"one_device": (0, 1), "mirrored": (2, 1), "multi_worker": (0, 2)}
CLIPPED = {"dropout": 0.0, "clipnorm": 0.1, "learning_rate": 5e-3}
WHOLE = CLIPPED | {"num_steps": 50}
# Both at once: one training less.
ADAPTED_AND_TAUGHT = CLIPPED | {"num_steps": 5, "lora": {"rank": 2}, "with_teacher": True}
HALVED = CLIPPED | {"num_steps": 5, "all_reduce_dtype": "bfloat16"}
SCALED = CLIPPED | {"num_steps": 4, "dtype": "mixed_float16", "all_reduce_dtype": "float16"}


def losses(num_workers, *orders):
    """The answers to (strategy, devices, cases); the losses must be the same on all workers."""
    answers = run_workers(num_workers, PROGRAM, json.dumps(orders))
    answers = [json.loads(answer.splitlines()[-1]) for answer in answers]
    for place in range(len(orders)):
        of_workers = [answer[place] for answer in answers]
        assert [answer.pop("is_chief") for answer in of_workers] == [True] + [False] * (num_workers - 1)
        assert all(answer == of_workers[0] for answer in of_workers)
    return answers[0]


@pytest.fixture(scope="module")
def one_process():
    """Number of replicas, 2 or 1 -> 50 clipped steps; on one also with each batch in four parts."""
    parts = WHOLE | {"gradient_accumulation_steps": 4}
    # Groups of replicas of several sizes do not go together in one process.
    two, one = losses(
        1, ("mirrored", 2, {"whole": WHOLE}), ("one_device", 0, {"whole": WHOLE, "parts": parts})
    )
    return {2: two, 1: one}


@pytest.fixture(scope="module")
def with_fewer_bits():
    """Steps of two replicas whose gradients are summed in 16 bits."""
    (two,) = losses(1, ("mirrored", 2, {"halved": HALVED, "scaled": SCALED}))
    return two


@pytest.mark.slow
def test_parts_of_a_batch_take_the_steps_of_the_whole(one_process):
    one_device = one_process[1]
    assert one_device["whole"][-1][0] < 0.6 * one_device["whole"][0][0]
    np.testing.assert_allclose(one_device["parts"], one_device["whole"], atol=1e-4)


@pytest.mark.slow
def test_replicas_take_the_steps_of_one(one_process):
    answer = one_process[2]
    assert answer["num_replicas"] == 2
    np.testing.assert_allclose(answer["whole"], one_process[1]["whole"], atol=1e-4)
    assert answer["replicas_agree"]
    assert answer["dropout"] == {
        "replicas_differ": True,
        "steps_differ": True,
        "same_step_same_mask": True,
    }


@pytest.mark.slow
@pytest.mark.long
def test_adapters_learn_from_a_teacher_on_replicas_as_on_one():
    cases = {"taught": ADAPTED_AND_TAUGHT}
    two, one = losses(1, ("mirrored", 2, cases), ("one_device", 0, cases))
    np.testing.assert_allclose(two["taught"], one["taught"], atol=1e-4)


def assert_gradients_alone_are_rounded(answer):
    """The sums of `gradients_of_replica` over two replicas, by NumPy's bfloat16."""
    places = [np.arange(1, 8, dtype=np.float32) + number for number in (0, 1)]
    both = [[np.sqrt(p), np.float32(-100) / p] for p in places]
    for dtype, kind in (("float32", np.float32), ("bfloat16", ml_dtypes.bfloat16)):
        found = answer["sums"][dtype]
        assert found["count"] == 2003.0  # more digits than bfloat16 has
        for first, second, total in zip(*both, found["gradients"], strict=True):
            expected = (first.astype(kind) + second.astype(kind)).astype(np.float32)
            np.testing.assert_allclose(total, expected, rtol=1e-6, err_msg=dtype)


def assert_half_the_bytes_are_sent(answer):
    """Each gradient once in bfloat16, also with parts; in float32 only losses, weights and counts."""
    sizes = answer["collectives"]["sizes"]
    assert sizes["bfloat16"] == answer["collectives"]["parameters"]
    assert set(sizes) == {"bfloat16", "float32"} and sizes["float32"] < 40


@pytest.mark.slow
@pytest.mark.long
def test_gradients_summed_in_bfloat16_take_nearly_the_same_steps(one_process, with_fewer_bits):
    assert_gradients_alone_are_rounded(with_fewer_bits)
    assert_half_the_bytes_are_sent(with_fewer_bits)
    whole, halved = one_process[2]["whole"][:5], with_fewer_bits["halved"]
    assert halved[0] == whole[0] and halved[1:] != whole[1:]
    np.testing.assert_allclose(halved, whole, atol=5e-3)


@pytest.mark.slow
@pytest.mark.long
def test_scaled_gradients_are_summed_in_float16(one_process, with_fewer_bits):
    np.testing.assert_allclose(with_fewer_bits["scaled"], one_process[2]["whole"][:4], atol=0.03)


@pytest.mark.slow
@pytest.mark.long
def test_workers_take_the_steps_of_one(one_process, with_fewer_bits):
    cases = {
        "whole": WHOLE,
        "parts": CLIPPED | {"num_steps": 10, "gradient_accumulation_steps": 2},
        "halved": HALVED,
    }
    (answer,) = losses(2, ("multi_worker", 0, cases))
    assert answer["num_replicas"] == 2
    np.testing.assert_allclose(answer["whole"], one_process[1]["whole"], atol=1e-4)
    np.testing.assert_allclose(answer["parts"], one_process[1]["whole"][:10], atol=1e-4)
    assert_gradients_alone_are_rounded(answer)
    assert_half_the_bytes_are_sent(answer)
    np.testing.assert_allclose(answer["halved"], with_fewer_bits["halved"], atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_neither_xla_nor_precision_nor_strategy_changes_what_is_learnt(name, one_process):
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
    num_devices, num_workers = STRATEGIES[name]
    (answer,) = losses(num_workers, (name, num_devices, cases))
    expected = one_process[1]["whole"][:4]
    for case in cases:
        tolerance = 1e-4 if case.startswith("float32") else 0.03
        np.testing.assert_allclose(answer[case], expected, atol=tolerance, err_msg=case)
        assert case.startswith("float32") or answer[case] != expected
