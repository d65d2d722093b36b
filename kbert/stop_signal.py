"""SIGTERM and Ctrl-C as a wish to stop at the next good place, with all work saved. Standard library only."""

import contextlib
import os
import signal
import socket
import threading

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ENDING = (signal.SIG_DFL, signal.default_int_handler)  # handlers that end a process
_SECONDS_TO_END = 1.0
_AT_ONCE = "stopped at once by the second signal; the same command goes on from the newest checkpoint\n"


class StoppedBySignal(Exception):
    """Training was asked to stop and did, with everything saved; `exit_code` is the shell's for it.

    Args:
      signal_number: 15 (SIGTERM, exit code 143) or 2 (Ctrl-C, exit code 130).
      message: where it stands and how to go on.
    """

    def __init__(self, signal_number: int, message: str):
        super().__init__(f"stopped by {signal.Signals(signal_number).name} {message}")
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number


class StopSignal:
    """What has been received while `listening()`.

    Attributes:
      received: the first signal's number, or 0.
    """

    def __init__(self):
        self.received = 0

    @contextlib.contextmanager
    def listening(self):
        """Within it the first SIGTERM or SIGINT is only noted; the second one acts as it did before.

        Python runs signal handlers between its own instructions, so within a long call into TensorFlow
        neither would act. A thread therefore waits for the second one, and where it would have ended the
        process but has not within a second, ends it: checkpoints are whole or absent at any moment.

        Python hands signals to the main thread alone: elsewhere nothing is noted and nothing changes.
        """
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.getsignal(number) for number in _SIGNALS}

        def note(number, frame):
            self.received = self.received or number
            restore()

        def restore():
            for number, handler in before.items():
                # None: a handler that was not set from Python, and cannot be put back from there.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

        with _second_signal_ends_at_once(before):
            for number in _SIGNALS:
                signal.signal(number, note)
            try:
                yield self
            finally:
                restore()


@contextlib.contextmanager
def _second_signal_ends_at_once(before):
    """A thread that hears of every signal as it comes, and ends the process with the second one.

    Args:
      before: signal number -> handler. A signal with a handler of somebody's own is left to it.
    """
    ended = threading.Event()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    fatal = {number for number, handler in before.items() if handler in _ENDING}

    def listen():
        count = 0
        # The bytes are the signals' numbers, see signal.set_wakeup_fd; none come when the socket is closed.
        while number := receiver.recv(1):
            count += number[0] in _SIGNALS
            if count == 2 and number[0] in fatal and not ended.wait(_SECONDS_TO_END):
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
