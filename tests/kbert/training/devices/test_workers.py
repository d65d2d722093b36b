"""Two worker processes and one run: real records, real scripts, one writer."""

import json
import os
import re
import shutil
import signal
import socket
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from kbert.config import to_dict
from kbert.experiments.pretraining import pretrain
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_pretraining_config
from tests.kbert.training.devices.worker_processes import run_workers, start_workers
from tests.warm_processes import run_script

pytestmark = pytest.mark.slow


def arguments(tmp_path, records_dir, run, values=None):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(values or tiny_pretraining_config())))
    return (
        "kbert.scripts.run_pretraining",
        f"--config={config}",
        f"--input_dir={records_dir / 'train'}",
        f"--eval_input_dir={records_dir / 'heldout'}",
        f"--run_dir={run}",
        "--json",
    )


def numbers(run):
    keys = ("step", "split", "masked_lm_loss", "next_sentence_loss", "masked_lm_accuracy")
    return [[line[key] for key in keys] for line in read_metrics(run.metrics_file)]


def tensors(run):
    folder = checkpoint.list_checkpoints(run.checkpoints)[-1]
    return load_file(folder / "model.safetensors") | load_file(folder / "optimizer.safetensors")


@pytest.mark.long
def test_two_workers_train_write_once_and_resume(records_dir, tmp_path):
    command = arguments(tmp_path, records_dir, tmp_path / "run")
    answers = [json.loads(answer.splitlines()[-1]) for answer in run_workers(2, *command)]
    assert answers[0] == answers[1] and answers[0]["masked_lm_loss"] > 0
    run = RunDirectory(tmp_path / "run")
    lines = numbers(run)
    assert [line[:2] for line in lines] == [[step, "train"] for step in range(2, 13, 2)] + [[12, "eval"]]

    # The evaluation of both is that of one: every held-out record once.
    alone = tmp_path / "alone"
    shutil.copytree(run.path, alone)
    _, again = pretrain(tiny_pretraining_config(), alone, records_dir / "train", records_dir / "heldout")
    assert again == pytest.approx(answers[0], abs=1e-5)

    # As a run killed after the checkpoint of step 6, and before that of step 12.
    resumed = RunDirectory(shutil.copytree(run.path, tmp_path / "resumed"))
    shutil.rmtree(checkpoint.list_checkpoints(resumed.checkpoints)[-1])
    (newest,) = checkpoint.list_checkpoints(resumed.checkpoints)
    assert newest.name == "step-00000006"
    run_workers(2, *arguments(tmp_path, records_dir, resumed.path))
    for ours, theirs in zip(numbers(resumed), lines, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2:] == pytest.approx(theirs[2:], abs=1e-5)
    expected = tensors(run)
    for name, value in tensors(resumed).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-5, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("killed", [0, 1])
def test_when_a_worker_is_killed_the_other_says_so_in_one_sentence(records_dir, tmp_path, killed):
    config = tiny_pretraining_config(num_train_steps=100_000, save_checkpoints_steps=2, log_every_steps=100)
    command = arguments(tmp_path, records_dir, tmp_path / "run", config)
    workers = start_workers(2, *command)
    try:
        deadline = time.monotonic() + 120
        while not checkpoint.list_checkpoints(tmp_path / "run" / "checkpoints"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        workers[killed].kill()
        _, errors = workers[1 - killed].communicate(timeout=120)
    finally:
        for worker in workers:
            worker.kill()
        workers[killed].communicate()
    assert workers[1 - killed].returncode == 1
    last = errors.splitlines()[-1]
    assert last.startswith(f"error: the connection to worker {killed} is lost: it has ended, or the network ")
    assert (
        "Start the same command again on all workers: training continues from step " in last
        and "Traceback" not in errors
    )


@pytest.mark.long
def test_workers_that_would_meet_at_other_steps_are_refused(records_dir, tmp_path):
    """They waited for each other for ever."""
    command = arguments(tmp_path, records_dir, tmp_path / "run")
    workers = start_workers(2, *command, last=["--override=log_every_steps=5"])
    try:
        errors = [worker.communicate(timeout=120)[1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, said in zip(workers, errors, strict=True):
        assert worker.returncode == 1
        assert said.splitlines()[-1].startswith("error: the workers differ in log_every_steps (here ")
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_worker_whose_others_never_start_says_so_and_can_be_ended(records_dir, tmp_path):
    """And one whose port is taken ends at once."""
    waiting, second = start_workers(2, *arguments(tmp_path, records_dir, tmp_path / "run"))
    second.kill()
    try:
        deadline = time.monotonic() + 60
        while "waiting for worker 1 (localhost:" not in waiting.errors():
            assert time.monotonic() < deadline and waiting.poll() is None, waiting.errors()
            time.sleep(0.1)
        port = int(re.search(r"localhost:(\d+)", waiting.errors())[1])
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(20) == 143
    finally:
        waiting.kill()
    last = waiting.errors().splitlines()[-1]
    assert last.startswith("stopped by SIGTERM while it waited for worker 1 (localhost:")
    assert not (tmp_path / "run").exists()
    tf_config = {"cluster": {"worker": [f"localhost:{port}"]}, "task": {"type": "worker", "index": 0}}
    with socket.create_server(("", port)):
        environment = os.environ | {"TF_CONFIG": json.dumps(tf_config)}
        command = [*arguments(tmp_path, records_dir, tmp_path / "run"), "--strategy=multi_worker"]
        taken = run_script(*command, environment=environment, timeout=60)
    assert taken.returncode == 1 and len(taken.stderr.splitlines()) == 1
    assert f"error: TF_CONFIG: port {port} of worker 0 (localhost:{port}) cannot be opened" in taken.stderr
