"""Ctrl-C before a script has begun its work: one line and the shell's exit code. Standard library only.

Python's own answer is a KeyboardInterrupt in the midst of whatever is being imported: a page of traceback, or
another error that a half-loaded library makes of it.
"""

import os
import signal
import sys
import threading

EXIT_CODE = 130  # 128 + SIGINT, as shells have it
MESSAGE = "stopped by Ctrl-C"
# The folders of this project that hold scripts; where kbert is installed, `export` is called `kbert_export`.
PACKAGES_OF_SCRIPTS = ("kbert", "tfrecords_tools", "export", "kbert_export", "benchmarks")


def is_script_starting() -> bool:
    """Whether this process is `python -m` one of this project's scripts, and not a program that imports it.

    While Python still looks for the script, and imports the packages that it lies in, the program's name is
    "-m" (documentation of `sys.argv`); afterwards the main module knows its name.
    """
    if getattr(sys, "argv", [])[:1] == ["-m"]:
        return True
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.partition(".")[0] in PACKAGES_OF_SCRIPTS


def end_at_interrupt():
    """From now on Ctrl-C ends the process at once. Nothing may have been begun that wants to be cleaned up.

    Where something else listens already, or Ctrl-C is ignored (nohup), nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_at_interrupt():
    """Back to Python's own answer, a KeyboardInterrupt, which cleans up on its way."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_from_interrupt(error: BaseException) -> bool:
    """Whether an error is a KeyboardInterrupt, or was made of one by a library that was being imported."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def forget_interrupt():
    """A KeyboardInterrupt that has been handled is no reason any more for this process to end by a signal.

    One that passed through `exec` of a string, as in the making of a named tuple, otherwise is: Python notes
    it, and forgets it only where it next runs a string (pythonrun.c, `run_eval_code_obj`).
    """
    exec("")


def _end(number, frame):
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(EXIT_CODE)
