"""`run(main)`: how every script of kbert starts, and how it ends when something is wrong.

A script's own imports bring no TensorFlow or NumPy. What does comes late (`kbert.late_modules`), after flags
and files have been checked, so that `--help` and a misspelt path are answered at once.
"""

import atexit
import contextlib
import functools
import io
import logging as standard_logging
import os
import select
import sys
from pathlib import Path

from absl import app, flags, logging

from kbert.cli import quiet_tensorflow
from kbert.cli.flags import parse_flags, program, shown_positions
from kbert.cli.progress import log_activities
from kbert.cli.signals import (
    INTERRUPTED,
    STOPPED_BY_CTRL_C,
    StoppedBySignal,
    end_first_process_by_sigterm,
    is_from_interrupt,
)
from kbert.files import full_disk
from kbert.files.whole_file import final_name
from kbert.full_memory import naming_full_memory
from kbert.input_pipelines.pipeline_errors import MENDABLE, own_error

_PROJECT = Path(__file__).parents[2]  # with its links, as the path of a log line's file has them
_FEWER_AT_ONCE = "take a smaller batch size, or shorter sequences (max_seq_length)"
_PACKAGES = ("kbert", "tfrecords_tools", "export", "kbert_export", "benchmarks")


def run(main, *config_classes, positions=()):
    """Parses the flags, runs `main()` and leaves the process with its exit code.

    A user can mend a ValueError, an OSError (a missing file, an existing file), a full disk or memory,
    whoever found it, and a FloatingPointError (the loss is not finite any more). Such an error becomes the
    single line `error: ...` on standard error, with exit code 1; `--verbosity=1` also shows the traceback.
    The same holds for an error that was raised inside an input pipeline, where TensorFlow wraps it. Ctrl-C
    gives exit code 130. A training that was stopped by SIGTERM gives 143. A reader of standard output that
    has seen enough (`| head`) ends the script without a word. Any other exception is a bug in kbert and keeps
    its traceback.

    What is printed is UTF-8, whatever the system's encoding is.

    Args:
      main: function without arguments; what it returns is the exit code, None for 0.
      *config_classes: the configs that --override of this script changes. A flag that names one of their
        settings (`--learning_rate=3e-5`) is answered with the override to type.
      positions: the names of the flags that the first arguments may stand for: `kbert serve DIR`.
    """

    def main_with_log(argv):
        if len(argv) > 1:
            first = f"write {shown_positions(positions)} before all flags; " if positions else ""
            raise ValueError(
                f"unexpected argument {argv[1]!r}; {first}flags are written --name=value, and globs in "
                "quotes: --input_files='corpus/*.txt'."
            )
        if not flags.FLAGS["verbosity"].present:
            show_own_lines()
        with log_activities(program()), naming_full_memory("a batch", _FEWER_AT_ONCE):
            code = main()
            sys.stdout.flush()
        return code

    end_first_process_by_sigterm()
    _open_closed_streams()
    quiet_tensorflow.load_less()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    try:
        app.run(main_with_log, flags_parser=lambda argv: parse_flags(argv, config_classes, positions))
    except BaseException as error:  # at least SystemExit
        code = _exit_code(error)
    _end(code)


def _open_closed_streams():
    """Opens standard streams that are closed (`2>&-`) to nowhere, in this process and those that it starts:
    the next file would get their number, and what others print."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


@functools.cache
def show_own_lines():
    """Shows this project's log lines without a prefix, and those of other packages only if they are errors.

    TensorFlow uses the same logger for lines that no user needs ("Sharding callback duration"). Only once, so
    that a later change of absl's verbosity holds.
    """
    logging.use_absl_handler()
    logging.set_verbosity(logging.INFO)
    handler = logging.get_absl_handler()
    handler.setFormatter(standard_logging.Formatter("%(message)s"))
    handler.addFilter(lambda record: record.levelno > standard_logging.WARNING or _is_ours(record.pathname))


@functools.cache
def show_own_lines_in_session():
    """The same where a person types Python: there what other packages and the person log stays as it is, and
    goes where the person sent it."""
    logging._warn_preinit_stderr = False  # type: ignore[attr-defined]  # no flags will be parsed, which absl would wait for
    logger, handler = logging.get_absl_logger(), logging.get_absl_handler()
    if logging.get_verbosity() < logging.INFO:
        logging.set_verbosity(logging.INFO)
        logger.addFilter(
            lambda record: record.levelno >= standard_logging.WARNING or _is_ours(record.pathname)
        )
    if not standard_logging.root.handlers:
        handler.setFormatter(standard_logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.propagate = False  # absl gives the root logger a handler at the first line


def _is_ours(path):
    # The path's first folder decides: _PROJECT may be the whole of site-packages, or contain a .venv.
    path = Path(path)
    return path.is_relative_to(_PROJECT) and path.relative_to(_PROJECT).parts[0] in _PACKAGES


def _exit_code(error):
    """Prints in one line why a script ended early, and returns its exit code. A bug is raised again."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    if isinstance(error, BrokenPipeError) and _is_unread(sys.stdout):  # `| head` has seen enough
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python may flush once more at its exit
        return 0
    if isinstance(error, SystemExit):
        return error.code
    if isinstance(error, StoppedBySignal):
        _say(error)
        return error.exit_code
    if is_from_interrupt(error):
        _say(STOPPED_BY_CTRL_C)
        return INTERRUPTED
    sentence = error_sentence(error)
    if sentence is None:
        raise error
    logging.debug("Traceback of the error below:", exc_info=True)
    _say(f"error: {sentence}")
    return 1


def _say(line):
    with contextlib.suppress(OSError):  # a terminal that is gone: the exit code still says it
        print(line, file=sys.stderr)


def _is_unread(stream) -> bool:
    """Whether a stream is a pipe whose reader has gone: then poll tells an error that nobody asked for."""
    poller = select.poll()
    poller.register(stream.fileno(), 0)
    return bool(poller.poll(0))


def error_sentence(error: BaseException) -> str | None:
    """What a user can mend, in one sentence; None for a bug in kbert."""
    error = own_error(error) or error
    if isinstance(error, MENDABLE) or full_disk.full_disk_code(error):
        return full_disk.full_disk_sentence(error) or _system_sentence(error) or str(error) or repr(error)
    return None


def _system_sentence(error):
    """The system's reason of an OSError that names a file or has no folder to begin from; else None."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{final_name(str(error.filename))}: {error.strerror}; check its path and its rights."
    if isinstance(error, FileNotFoundError) and not error.filename:
        try:
            os.getcwd()
        except FileNotFoundError:
            return "the folder that you are in was deleted; cd to one that is there."
    return None


def _end(code):
    """Ends the process without freeing its objects first.

    At a normal exit Python frees large traced graphs piece by piece, which takes 10 seconds and more, and a
    standard output that takes no more is written to again. Functions registered with `atexit` still run, and
    logs are flushed. Several workers (TF_CONFIG) exit normally: TensorFlow then tells the other workers.
    """
    if "TF_CONFIG" in os.environ:
        sys.exit(code)
    atexit._run_exitfuncs()
    standard_logging.shutdown()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code or 0)
