"""Ctrl-C while a script starts: prints one line and ends with exit code 130. Standard library only.

By default Python raises KeyboardInterrupt in the middle of an import. The user then sees a page of traceback,
or another error that comes from a half-loaded library.
"""

import os
import signal
import sys
import threading

EXIT_CODE = 130  # 128 + SIGINT, as in shells
MESSAGE = "stopped by Ctrl-C"
# The folders of this project that hold scripts; where kbert is installed, `export` is called `kbert_export`.
PACKAGES_OF_SCRIPTS = ("kbert", "tfrecords_tools", "export", "kbert_export", "benchmarks")


def is_script_starting() -> bool:
    """Whether this process runs one of this project's scripts by `python -m`.

    While Python looks for the script and imports its parent packages, `sys.argv[0]` is "-m" (documentation of
    `sys.argv`). Afterwards `__main__.__spec__` has the script's name.
    """
    if getattr(sys, "argv", [])[:1] == ["-m"]:
        return True
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.partition(".")[0] in PACKAGES_OF_SCRIPTS


def end_at_interrupt():
    """From now on Ctrl-C ends the process at once. Call it only before there is anything to clean up.

    Nothing changes if SIGINT has another handler already, or is ignored (nohup), or in another thread than
    the main one.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_at_interrupt():
    """From now on Ctrl-C raises KeyboardInterrupt again, as Python does by default, and cleanup code runs."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_from_interrupt(error: BaseException) -> bool:
    """Whether an error is a KeyboardInterrupt, or was caused by one, for example in a half-loaded library."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def forget_interrupt():
    """Keeps Python from ending this process by SIGINT after a KeyboardInterrupt that has been handled.

    When a KeyboardInterrupt passes through `exec` of a string, as in the creation of a named tuple, Python
    sets a flag, and ends the process by SIGINT at exit. It clears the flag when it next executes a string
    (pythonrun.c, `run_eval_code_obj`).
    """
    exec("")


def _end(number, frame):
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(EXIT_CODE)
