"""Several hosts: killed, cut off, slow, late. Needs root, and says so where it has not."""

import json
import os
import sys
import time

import numpy as np
import pytest

from kbert.config import to_dict
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from tests.conftest import tiny_pretraining_config
from tests.kbert.training.devices.hosts import Hosts, reason_for_none
from tests.places import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def possible_hosts():
    if reason := reason_for_none():
        pytest.skip(f"SEVERAL HOSTS NOT TRIED: {reason}")


def start(hosts, number, module, *arguments, only=None):
    """The processes of the first `number` hosts, which know of each other; or of those in `only` alone."""
    processes = {}
    for host in range(number) if only is None else only:
        workers = [f"{hosts.address(other)}:8888" for other in range(number)]
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": host}}
        environment = os.environ | ({"TF_CONFIG": json.dumps(task)} if number > 1 else {})
        command = (sys.executable, "-m", module, *map(str, arguments))
        processes[host] = hosts.start(host, *command, environment=environment, folder=REPOSITORY)
    return processes


def answers(processes, timeout=180):
    """Exit code, last line of the standard output and of the standard error, of each host."""
    ends = {}
    for host, process in processes.items():
        output, errors = process.communicate(timeout=timeout)
        ends[host] = process.returncode, output.splitlines()[-1:], errors.splitlines()[-1:]
    return ends


class Training:
    """The command line of a pretraining on the hosts, and what its run directory says of it."""

    def __init__(self, folder, records, **changes):
        config, self.run = folder / "config.json", folder / "run"
        config.write_text(
            json.dumps(to_dict(tiny_pretraining_config(train_batch_size=12, eval_batch_size=12, **changes)))
        )
        self.command = (
            "kbert.scripts.run_pretraining",
            f"--config={config}",
            f"--input_dir={records / 'train'}",
            f"--run_dir={self.run}",
            "--strategy=auto",
            "--json",
        )

    def step(self):
        file = self.run / "metrics.jsonl"
        return max((line["step"] for line in read_metrics(file)), default=0) if file.exists() else 0

    def wait_for_step(self, step, processes):
        deadline = time.monotonic() + 120
        while self.step() < step:
            assert time.monotonic() < deadline
            assert all(process.poll() is None for process in processes.values()), answers(processes)
            time.sleep(0.1)

    def newest_checkpoint(self):
        return checkpoint.parse_step(checkpoint.list_checkpoints(self.run / "checkpoints")[-1])


@pytest.mark.long
def test_a_short_cut_is_survived_a_long_one_ends_all_and_fewer_hosts_go_on(records_dir, tmp_path):
    training = Training(tmp_path, records_dir, num_train_steps=400, save_checkpoints_steps=10)
    with Hosts(3) as hosts:
        processes = start(hosts, 3, *training.command)
        training.wait_for_step(10, processes)
        hosts.cut = {2}
        time.sleep(1)
        hosts.cut = set()
        training.wait_for_step(training.step() + 20, processes)

        hosts.cut = {2}
        ends = answers(processes, timeout=60)
        assert [end[0] for end in ends.values()] == [1, 1, 1]
        step = training.newest_checkpoint()
        way = f"Start the same command again on all workers: training continues from step {step}."
        for host, named in {0: "worker 2", 1: "worker 2", 2: "another worker"}.items():
            (line,) = ends[host][2]
            assert line.endswith(way) and "it has ended, or the network between them is down" in line
            assert f"the connection to {named} is lost" in line or host == 2

        ends = answers(start(hosts, 2, *training.command))
        assert [end[0] for end in ends.values()] == [0, 0], ends
        assert ends[0][1] == ends[1][1] and training.newest_checkpoint() == 400


@pytest.mark.exhaustive
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_host_is_named_by_the_others(records_dir, tmp_path, killed):
    training = Training(tmp_path, records_dir, num_train_steps=100_000, save_checkpoints_steps=10)
    with Hosts(3) as hosts:
        processes = start(hosts, 3, *training.command)
        training.wait_for_step(10, processes)
        processes[killed].kill()
        ends = answers(processes, timeout=60)
    for host in {0, 1, 2} - {killed}:
        assert ends[host][0] == 1 and f"the connection to worker {killed} is lost" in ends[host][2][0]


@pytest.mark.exhaustive
def test_hosts_on_a_slow_link_take_the_steps_of_one():
    """50 ms and one packet of a hundred lost; the last host starts ten seconds late."""
    case = {"dropout": 0.0, "clipnorm": 0.1, "learning_rate": 5e-3, "num_steps": 5}
    module = "tests.kbert.training.devices.strategy_losses"
    with Hosts(4) as hosts:
        alone = answers(start(hosts, 1, module, json.dumps([["one_device", 0, {"whole": case}]])))
        hosts.delay, hosts.loss = 0.05, 0.01
        orders = json.dumps([["multi_worker", 0, {"whole": case}]])
        processes = start(hosts, 4, module, orders, only=range(3))
        time.sleep(10)
        processes |= start(hosts, 4, module, orders, only=[3])
        ends = answers(processes)
    assert [end[0] for end in ends.values()] == [0] * 4
    (expected,) = json.loads(alone[0][1][0])
    for end in ends.values():
        (answer,) = json.loads(end[1][0])
        assert answer["num_replicas"] == 4
        np.testing.assert_allclose(answer["whole"], expected["whole"], rtol=1e-4)
