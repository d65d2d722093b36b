"""Ctrl-C and SIGTERM: one line at any time; in a training, a request to stop with all work saved.

Standard library only.
"""

import contextlib
import os
import signal
import socket
import sys
import threading

INTERRUPTED = 130  # 128 + SIGINT, as in shells
STOPPED_BY_CTRL_C = "stopped by Ctrl-C"

# Of a terminal that is closed or lost; of job schedulers, before the time of a job ends.
_WARNINGS = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, *_WARNINGS)
_SECONDS_TO_END = 1.0
_AT_ONCE = "stopped at once by the second signal; repeat the command to go on from the newest checkpoint\n"


def _end(number, frame):
    os._exit(128 + number)


_ENDING = (signal.SIG_DFL, signal.default_int_handler, _end)  # handlers that end a process


def end_first_process_by_sigterm():
    """Lets SIGTERM (`docker stop`) end this process also where it is the first one of a container: the system
    drops a signal to that one that nothing handles."""
    if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def is_from_interrupt(error: BaseException | None) -> bool:
    """Whether an error is a KeyboardInterrupt, or was caused by one, for example in a half-loaded library."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


class StoppedBySignal(KeyboardInterrupt):
    """Training was stopped by a signal, with all its steps saved. `exit_code` is 128 + the signal's number.

    A KeyboardInterrupt, whatever the signal: who goes on after each `Exception`, as a search over settings
    does, stops as well.

    Args:
      signal_number: such as 15 (SIGTERM, exit code 143) or 2 (Ctrl-C, exit code 130).
      message: where training stopped and how to continue it; it follows "stopped by SIGTERM".
    """

    def __init__(self, signal_number: int, message: str):
        super().__init__(f"stopped by {signal.Signals(signal_number).name} {message}")
        self.exit_code = 128 + signal_number


class StopSignal:
    """Records the stop signal that is received while `listening()`.

    Attributes:
      received: the first signal's number, or 0.
      listener: the one that listens now, or None.
    """

    listener: "StopSignal | None" = None

    def __init__(self):
        self.received = 0

    @classmethod
    def require_none(cls, what: str):
        """Raises StoppedBySignal where one was received: for long work in a training, of which nothing is
        kept. `what` follows "stopped by SIGTERM"."""
        if cls.listener and cls.listener.received:
            raise StoppedBySignal(cls.listener.received, what)

    @contextlib.contextmanager
    def listening(self):
        """Inside this context the first SIGTERM or SIGINT is only recorded; the second acts as it did before.
        SIGHUP, SIGUSR1 and SIGUSR2, which end a process too, count alike where nothing else handles them. A
        SIGHUP after the first signal changes nothing: for one lost terminal the shell and the system send it.

        Python runs signal handlers between its own instructions, so no handler runs during a long call into
        TensorFlow. A thread therefore waits for the second signal. If that signal should end the process and
        has not done so within a second, the thread ends it. This is safe at any moment, because a checkpoint
        is either complete or absent.

        Python delivers signals to the main thread only: in other threads nothing is recorded or changed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        if before[signal.SIGINT] == signal.SIG_IGN:  # as a shell starts a command in the background
            del before[signal.SIGINT]
        for number in _WARNINGS:
            if before[number] != signal.SIG_DFL:
                del before[number]

        def note(number, frame):
            self.received = self.received or number
            restore()
            if signal.SIGHUP in before:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        def restore():
            for number, handler in before.items():
                # None: the handler was not set from Python, so Python cannot restore it.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

        with _second_signal_ends_at_once(before):
            for number in before:
                signal.signal(number, note)
            StopSignal.listener = self
            try:
                yield self
            finally:
                StopSignal.listener = None
                restore()


@contextlib.contextmanager
def _second_signal_ends_at_once(before):
    """Runs a thread that sees every signal at once, and ends the process at the second one.

    Args:
      before: signal number -> handler. A signal with a custom handler is left to that handler.
    """
    ended = threading.Event()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    fatal = {number for number, handler in before.items() if handler in _ENDING} - {signal.SIGHUP}
    if hasattr(sys, "ps1"):  # a notebook or a prompt, whose variables would be lost; Python acts when it runs
        fatal.discard(signal.SIGINT)

    def listen():
        count = 0
        # The bytes are the signals' numbers, see signal.set_wakeup_fd; none come when the socket is closed.
        while number := receiver.recv(1):
            count += number[0] in before
            if count > 1 and number[0] in fatal and not ended.wait(_SECONDS_TO_END):
                os.write(2, _AT_ONCE.encode())
                os._exit(128 + number[0])

    thread = threading.Thread(target=listen, name="second signal", daemon=True)
    thread.start()
    previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(previous)
        sender.close()
        thread.join()
        receiver.close()
