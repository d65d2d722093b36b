"""`run(main)`: how every kbert script starts, and how it ends when something is wrong.

Import this module first: TensorFlow reads its log level, and prints its start-up lines, while it is
imported. Scripts import TensorFlow inside `main`, after their flags and files have been checked, so
that `--help` and a misspelt path are answered at once.
"""

# This runs before all other imports, because they take a while. A program that only imports kbert keeps its
# own handling of Ctrl-C.
from kbert import interrupt

if interrupt.is_script_starting():
    interrupt.end_at_interrupt()

# ruff: noqa: E402

import atexit
import contextlib
import importlib.util
import logging as standard_logging
import os
import platform
import sys
from pathlib import Path

from absl import app, flags, logging

from kbert.activity import activity, told_when_silent
from kbert.command_flags.flag_errors import parse_flags
from kbert.command_flags.help_page import program
from kbert.files import full_disk
from kbert.log_lines import LineFormatter
from kbert.pipeline_error import error_inside
from kbert.stop_signal import StoppedBySignal
from kbert.terminal_line import progress_on_one_line

_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_MENDABLE = (ValueError, OSError, FloatingPointError)
_PROJECT = Path(__file__).resolve().parent.parent


def run(main, *config_classes):
    """Parses the flags, runs `main(argv)` and leaves the process with its exit code.

    A user can mend a ValueError, an OSError (a missing file, an existing file), a full disk, whoever found
    it, and a FloatingPointError (the loss is not finite any more). Such an error becomes the single line
    `error: ...` on standard error, with exit code 1; `--verbosity=1` also shows the traceback. The same holds
    for an error that was raised inside an input pipeline, where TensorFlow wraps it. Ctrl-C gives exit code
    130. A training that was stopped by SIGTERM gives 143. Any other exception is a bug in kbert and keeps
    its traceback.

    Args:
      main: function of one argument, the command line that absl's flags left over: the program's name.
      *config_classes: the configs that --override of this script changes. A flag that names one of their
        settings (`--learning_rate=3e-5`) is answered with the override to type.
    """

    def guarded_main(argv):
        try:
            interrupt.raise_at_interrupt()
            handler = _show_own_lines()
            if len(argv) > 1:
                raise ValueError(
                    f"unexpected argument {argv[1]!r}; flags are written --name=value, and globs in "
                    "quotes: --input_files='corpus/*.txt'."
                )
            with told_when_silent(script=program()), progress_on_one_line(handler):
                code = main(argv)
            _flush_output()
            return code
        except StoppedBySignal as stop:
            print(stop, file=sys.stderr)
            return stop.exit_code
        except (Exception, KeyboardInterrupt) as error:
            return _exit_code(error)

    def guarded_flags(argv):
        try:
            return parse_flags(argv, config_classes)
        except (ValueError, OSError) as error:
            sys.exit(_exit_code(error))

    interrupt.end_at_interrupt()
    try:
        app.run(guarded_main, flags_parser=guarded_flags)
    except SystemExit as end:
        _end_at_once(end)
        raise


def _end_at_once(end: SystemExit):
    """Ends the process without freeing its objects first.

    At a normal exit Python frees large traced graphs piece by piece, which takes 10 seconds and more.
    Functions registered with `atexit` still run, and logs are flushed. Several workers (TF_CONFIG) exit
    normally, because TensorFlow then tells the other workers.
    """
    if "tensorflow" not in sys.modules or "TF_CONFIG" in os.environ:
        return
    if not isinstance(end.code, int | None):
        return  # a text, which Python prints
    atexit._run_exitfuncs()
    standard_logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code or 0)


def _flush_output():
    """Writes what was printed. What cannot be written is given up: the end of the process would try again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _exit_code(error):
    """Prints in one line why `main` ended, and returns the exit code. A bug is raised again."""
    with contextlib.suppress(OSError):
        _flush_output()
    if interrupt.is_from_interrupt(error):
        interrupt.forget_interrupt()
        print(interrupt.MESSAGE, file=sys.stderr)
        return interrupt.EXIT_CODE
    sentence = full_disk.sentence_of(error)
    mendable = error if isinstance(error, _MENDABLE) else error_inside(error)
    if sentence is None and not isinstance(mendable, _MENDABLE):
        raise error
    logging.debug("Traceback of the error below:", exc_info=True)
    print(f"error: {sentence or mendable}", file=sys.stderr)
    return 1


def _show_own_lines():
    """Shows this project's log lines without a prefix, and those of other packages only if they are errors.

    TensorFlow uses the same logger for lines that no user needs ("Sharding callback duration").

    Returns:
      The handler that writes the lines.
    """
    shown = logging.get_absl_handler()
    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.INFO)
        shown.setFormatter(LineFormatter())
        shown.addFilter(_is_worth_showing)
    handler = shown.python_handler
    if sys.stderr is not None:
        # Its own way to standard error, for the time in which that is set aside.
        handler.setStream(os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace"))
    return handler


def _is_worth_showing(record):
    path = Path(record.pathname)
    # The path's first folder decides: _PROJECT may be the whole of site-packages, or contain a .venv.
    ours = (
        path.is_relative_to(_PROJECT) and path.relative_to(_PROJECT).parts[0] in interrupt.PACKAGES_OF_SCRIPTS
    )
    return record.levelno > standard_logging.WARNING or ours


class _ToldImport:
    """An import finder that names the seconds in which a package is first imported.

    Args:
      name: of the package.
      text: what goes on.
      around: makes a context around the import.
    """

    def __init__(self, name: str, text: str, around=contextlib.nullcontext):
        self._name, self._text, self._around = name, text, around

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_tell(module):
                with activity(self._text), self._around():
                    execute(module)

            spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]  # this module's only
        return spec


@contextlib.contextmanager
def _standard_error_set_aside():
    """Hides what TensorFlow's C++ prints while it is first imported.

    TensorFlow 2.21 prints some lines (oneDNN, CUDA drivers) before it reads its log level. Standard error
    itself is therefore redirected to /dev/null during the import. Python exceptions are still raised. To see
    the C++ lines, for example when the import aborts on an old processor, set TF_CPP_MIN_LOG_LEVEL=0.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


# TensorFlow leaves oneDNN out on x86 processors without VNNI, where answers then took 1.1 to 1.3 times
# as long (docs/speed.md). What the user has set is kept.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# Level 3 hides all lines but fatal ones; anything important is also raised as a Python exception. A level
# that the user has set is kept. A level of 3 may also be inherited from a kbert script that started this
# process.
if os.environ.setdefault(_LOG_LEVEL, "3") == "3" and "tensorflow" not in sys.modules:
    sys.meta_path.insert(0, _ToldImport("tensorflow", "loading TensorFlow", _standard_error_set_aside))
for name, text in (("keras", "loading Keras"), ("tensorflow_text", "loading TensorFlow Text")):
    if name not in sys.modules:
        sys.meta_path.insert(0, _ToldImport(name, text))
