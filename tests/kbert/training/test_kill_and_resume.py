"""Real processes, killed at any moment: the same command again ends with the very same bytes."""

import json
import random
import signal
import time

import pytest

from kbert.config import to_dict
from kbert.experiments.pretraining import run_pretraining
from kbert.runs.checkpoint import list_checkpoints
from kbert.runs.run_directory import RunDirectory
from tests.conftest import MAX_SEQ_LENGTH, tiny_pretraining_config
from tests.kbert.training.run_contents import assert_same_runs
from tests.tfrecords_tools import small_corpus
from tests.warm_processes import WarmProcess
from tfrecords_tools.create_pretraining_data import create_pretraining_data

PRETRAINING = tiny_pretraining_config(
    num_train_steps=60,
    log_every_steps=4,  # neither divides the other: a kill falls into an open log interval
    save_checkpoints_steps=3,
    eval_every_steps=20,
    steps_per_call=2,
)


@pytest.fixture(scope="module")
def dynamic_records(tmp_path_factory):
    """Records that are masked anew while they are read, fewer than 60 batches of 8."""
    folder = tmp_path_factory.mktemp("dynamic")
    corpus, vocab_file = small_corpus.write_corpus(folder, 12, 1)
    create_pretraining_data(
        str(corpus),
        vocab_file,
        folder / "records",
        max_seq_length=MAX_SEQ_LENGTH,
        max_predictions_per_seq=4,
        dupe_factor=1,
        num_shards=3,
        masking="dynamic",
    )
    return folder / "records"


class Process:
    """A training script in a process of its own."""

    def __init__(self, script, config, run_dir, *arguments):
        config_file = run_dir.with_name("config.json")
        config_file.write_text(json.dumps(to_dict(config)))
        self.run_dir = run_dir
        self._process = WarmProcess(
            f"kbert.scripts.{script}", f"--config={config_file}", f"--run_dir={run_dir}", *arguments
        )

    def wait_until(self, condition):
        """Waits for it, or for the end of the process; whether the process lives."""
        while self._process.poll() is None and not condition():
            time.sleep(0.0002)
        return self._process.poll() is None

    def kill_when(self, condition):
        """SIGKILL while it holds: a stopped process cannot leave the moment; whether it was killed."""
        while self.wait_until(condition):
            self.send(signal.SIGSTOP)
            time.sleep(0.02)  # every thread stands still before the second look
            if condition():
                self.send(signal.SIGKILL)
                return True
            self.send(signal.SIGCONT)
        return False

    def send(self, number):
        self._process.send_signal(number)

    def finish(self):
        """(exit code, standard error)."""
        _, errors = self._process.communicate(timeout=300)
        return self._process.returncode, errors

    def num_lines(self):
        path = self.run_dir / "metrics.jsonl"
        return path.read_bytes().count(b"\n") if path.is_file() else 0

    def newest_step(self):
        there = list_checkpoints(self.run_dir / "checkpoints")
        return int(there[-1].name[5:]) if there else 0

    def is_writing(self):
        return any((self.run_dir / "checkpoints").glob("step-*.tmp"))


def train_through_kills(moments, *arguments):
    """Starts the same command again after each SIGKILL; how often it was killed, and how often in writing."""
    kills = kills_in_writing = 0
    for moment in moments:
        process = Process(*arguments)
        kills += process.kill_when(lambda process=process, moment=moment: moment(process))
        code, errors = process.finish()
        assert code in (0, -signal.SIGKILL), errors
        kills_in_writing += process.is_writing()
    code, errors = Process(*arguments).finish()
    assert code == 0, errors
    return kills, kills_in_writing


@pytest.mark.slow
@pytest.mark.long
def test_pretraining_killed_at_any_moment_ends_with_the_same_bytes(dynamic_records, tmp_path):
    """Dropout, shuffling and masks anew, in the middle of epochs and log intervals, and while saving."""
    assert PRETRAINING.encoder.hidden_dropout_prob > 0
    data = (f"--input_dir={dynamic_records}", f"--eval_input_dir={dynamic_records}")
    run_pretraining(PRETRAINING, tmp_path / "whole", dynamic_records, dynamic_records)  # in this process
    late = 24 + random.Random(5).randrange(20)
    moments = [
        lambda process: process.num_lines() >= 2,
        lambda process: process.newest_step() >= 15 and process.is_writing(),
        lambda process: process.newest_step() >= late,
    ]
    (tmp_path / "killed").mkdir()
    kills, in_writing = train_through_kills(
        moments, "run_pretraining", PRETRAINING, tmp_path / "killed" / "run", *data
    )
    assert kills == 3 and in_writing >= 1
    assert_same_runs(RunDirectory(tmp_path / "whole"), RunDirectory(tmp_path / "killed" / "run"))
