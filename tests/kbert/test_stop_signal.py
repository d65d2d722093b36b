"""Signals become a wish, once; the second one acts as ever."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from kbert.stop_signal import StoppedBySignal, StopSignal


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_is_noted_and_what_was_there_comes_back(number):
    before = signal.getsignal(number)
    with StopSignal().listening() as stop:
        assert stop.received == 0 and signal.getsignal(number) != before
        send(number)
        assert stop.received == number
        assert signal.getsignal(number) == before  # so that the second one acts
    assert signal.getsignal(number) == before


def test_the_second_ctrl_c_is_not_patient():
    with pytest.raises(KeyboardInterrupt), StopSignal().listening() as stop:
        send(signal.SIGTERM)
        assert stop.received == signal.SIGTERM
        send(signal.SIGINT)


def test_outside_the_main_thread_nothing_changes():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def listen():
        with StopSignal().listening() as stop:
            seen.append((signal.getsignal(signal.SIGTERM), stop.received))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [(before, 0)]


@pytest.mark.parametrize(("number", "code", "name"), [(15, 143, "SIGTERM"), (2, 130, "SIGINT")])
def test_exit_codes_are_those_of_a_shell(number, code, name):
    stop = StoppedBySignal(number, "at step 3.")
    assert stop.exit_code == code and str(stop) == f"stopped by {name} at step 3."


_BUSY = """
import hashlib
from kbert.stop_signal import StopSignal
with StopSignal().listening():
    print("busy", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)  # half an hour without an instruction of Python
"""


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "code"), [(15, 15, 143), (2, 2, 130), (15, 2, 130)])
def test_the_second_signal_ends_a_process_within_a_long_call(first, second, code):
    process = subprocess.Popen(
        [sys.executable, "-c", _BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "busy\n"
        time.sleep(0.1)
        process.send_signal(first)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.7)  # the first one waits for the call
        process.send_signal(second)
        assert process.wait(120) == code
        assert process.stderr.read() == (
            "stopped at once by the second signal; repeat the command to go on from the newest checkpoint\n"
        )
    finally:
        process.kill()
        process.communicate()
