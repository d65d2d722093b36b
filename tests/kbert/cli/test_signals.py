"""Ctrl-C is one line; in a training the first signal is a wish, and the second acts as ever."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kbert.cli.signals import _SECONDS_TO_END, StopSignal
from tests.places import REPOSITORY

# Sends this process a SIGINT when a module begins to be imported.
INTERRUPTS_AT_IMPORT = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""


def run_interrupted(tmp_path, module, *command):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS_AT_IMPORT)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "INTERRUPT_AT": module}
    return subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("evaluate --run_dir=none --input_dir=none", "absl"),
        ("predict --run_dir={run} --text=jump", "tensorflow.python.framework.ops"),
    ],
)
def test_while_a_command_starts_ctrl_c_is_one_line(tmp_path, finetuned_run, command, module):
    command = command.format(run=finetuned_run.path)
    result = run_interrupted(tmp_path, module, "-m", "kbert", *command.split())
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "stopped by Ctrl-C\n")
    assert not (tmp_path / "none").exists()


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2])
def test_the_first_signal_is_noted_and_what_was_there_comes_back(number):
    before = signal.getsignal(number)
    with StopSignal().listening() as stop:
        assert stop.received == 0 and signal.getsignal(number) != before
        send(number)
        assert stop.received == number
        assert signal.getsignal(number) == before  # so that the second one acts
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(number):
    """As Ctrl-C is for a command that a script starts in the background, and SIGHUP after nohup."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with StopSignal().listening() as stop:
            send(number)
            assert stop.received == 0
            send(signal.SIGTERM)
            assert stop.received == signal.SIGTERM
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_lost_terminal_may_say_so_twice(first):
    """The shell sends SIGHUP to its jobs, the system again; a login that ends sends SIGTERM and SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with StopSignal().listening() as stop:
            send(first)
            send(signal.SIGHUP)
            time.sleep(_SECONDS_TO_END + 0.2)
            assert stop.received == first
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_that_somebody_uses_stays_theirs():
    received = []
    before = signal.signal(signal.SIGUSR1, lambda *arguments: received.append(arguments))
    try:
        with StopSignal().listening() as stop:
            send(signal.SIGUSR1)
            assert len(received) == 1 and stop.received == 0
            send(signal.SIGTERM)  # the first of those that are listened for, so it ends nothing
            time.sleep(_SECONDS_TO_END + 0.2)
            assert stop.received == signal.SIGTERM
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_second_ctrl_c_is_not_patient():
    with pytest.raises(KeyboardInterrupt), StopSignal().listening() as stop:
        send(signal.SIGTERM)
        assert stop.received == signal.SIGTERM
        send(signal.SIGINT)


_BUSY = """
import hashlib
from kbert.cli.signals import StopSignal
with StopSignal().listening():
    print("busy", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)  # half an hour without an instruction of Python
"""


@pytest.mark.slow
def test_the_second_signal_ends_a_process_within_a_long_call():
    process = subprocess.Popen(
        [sys.executable, "-c", _BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "busy\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.4)  # the first one waits for the call
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert process.stderr.read() == (
            "stopped at once by the second signal; repeat the command to go on from the newest checkpoint\n"
        )
    finally:
        process.kill()
        process.communicate()


_INTERRUPTED_TWICE = """
import hashlib, os, signal, sys, threading, time
from kbert.cli.signals import StopSignal, StoppedBySignal
sys.ps1 = ">>> "
def interrupt():
    for _ in range(2):
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
with StopSignal().listening() as stop:
    hashlib.pbkdf2_hmac("sha256", b"", b"", 8_000_000)  # some seconds without an instruction of Python
try:
    raise StoppedBySignal(stop.received, "at step 3")
except Exception:
    print("a search over settings went on")
except KeyboardInterrupt as error:
    print(error)
"""


@pytest.mark.slow
def test_a_notebook_outlives_its_second_interrupt():
    """Its kernel was ended, and with it all variables; `except Exception` took the first one for an error."""
    result = subprocess.run([sys.executable, "-c", _INTERRUPTED_TWICE], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "stopped by SIGINT at step 3\n")
