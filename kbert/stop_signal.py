"""SIGTERM and Ctrl-C as a wish to stop at the next good place, with all work saved. Standard library only."""

import contextlib
import signal
import threading

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


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

        for number in _SIGNALS:
            signal.signal(number, note)
        try:
            yield self
        finally:
            restore()
