"""Where the dtype of the all-reduce has an effect, and where it is refused; test_strategies.py sums."""

import pytest
import tensorflow as tf
from absl import logging

from kbert.training.devices import gradient_all_reduce
from kbert.training.devices.gradient_all_reduce import all_reduce_gradients, resolve_all_reduce_dtype
from tests.conftest import tiny_pretraining_config


class Replicas:
    def __init__(self, number):
        self.num_replicas_in_sync = number


HALVED = tiny_pretraining_config(all_reduce_dtype="bfloat16")
SCALED = tiny_pretraining_config(all_reduce_dtype="float16", precision="float16")


@pytest.fixture
def on(monkeypatch):
    return lambda device: monkeypatch.setattr(gradient_all_reduce, "device_type", lambda strategy: device)


@pytest.mark.parametrize("device", ["CPU", "TPU"])
def test_several_replicas_sum_in_the_dtype_of_the_config(on, device):
    on(device)
    assert resolve_all_reduce_dtype(HALVED, Replicas(2)) == "bfloat16"
    assert resolve_all_reduce_dtype(tiny_pretraining_config(), Replicas(2)) == "float32"


def test_one_replica_ignores_it_and_says_so(on, caplog):
    on("GPU")
    with caplog.at_level(logging.DEBUG, logger="absl"):
        assert resolve_all_reduce_dtype(HALVED, Replicas(1)) == "float32"
    assert "all_reduce_dtype=bfloat16 has no effect: one replica" in caplog.text


def test_gpus_sum_in_float16_but_not_in_bfloat16(on):
    on("GPU")
    assert resolve_all_reduce_dtype(SCALED, Replicas(8)) == "float16"
    with pytest.raises(ValueError, match='all_reduce_dtype="bfloat16" works on CPUs and TPUs'):
        resolve_all_reduce_dtype(HALVED, Replicas(8))


def test_gradients_alone_travel_in_it(monkeypatch):
    sent = []

    class Context:
        def all_reduce(self, how, values):
            assert how == "sum"
            sent.append([value.dtype.name for value in tf.nest.flatten(values)])
            return tf.nest.map_structure(lambda value: value + value, values)  # two replicas, alike

    monkeypatch.setattr(tf.distribute, "get_replica_context", Context)
    third = tf.constant([1.0]) / 3
    (total,), sums = all_reduce_gradients([third], {"count": tf.constant(1001.0)}, "bfloat16")
    assert sent == [["bfloat16"], ["float32"]]
    assert total.dtype == tf.float32 and float(sums["count"]) == 2002.0
    assert float(total[0]) == pytest.approx(2 / 3, rel=2**-8) and float(total[0]) != float(2 * third[0])
