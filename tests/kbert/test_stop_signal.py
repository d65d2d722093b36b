"""Signals become a wish, once; the second one acts as ever."""

import os
import signal
import threading

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
