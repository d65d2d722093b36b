"""Makes the start of TensorFlow quiet: import this module before it. What the user has set is kept.

TensorFlow reads its log level, and prints its first lines, while it is imported.
"""

import contextlib
import gc
import importlib.abc
import importlib.util
import os
import platform
import sys

from kbert.cli.progress import activity

_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_LEGACY_KERAS = "TF_USE_LEGACY_KERAS"
# Keras imports these for wrappers and plots that no command has: 1.2 of the 4.5 seconds of a processor that
# TensorFlow takes to load (docs/speed.md).
_ONLY_FOR_KERAS = ("sklearn", "matplotlib")
_left_out: list[str] = []


class _QuietImport(importlib.abc.MetaPathFinder):
    """An import finder for TensorFlow and Keras alone, and only once: each imports the other."""

    def find_spec(self, name, path, target=None):
        if name not in ("tensorflow", "keras"):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            execute = _quietly()(spec.loader.exec_module)
            spec.loader.exec_module = execute  # type: ignore[method-assign]  # this module's only
        return spec


@contextlib.contextmanager
def _quietly():
    """A block in which TensorFlow loads, with standard error set aside."""
    aside = _without_standard_error() if sys.stderr else contextlib.nullcontext()
    with aside, activity("loading TensorFlow"), _without(_left_out), _without_garbage_collection():
        yield


@contextlib.contextmanager
def _without_standard_error():
    """Sets standard error aside, as TensorFlow 2.21 prints some lines (oneDNN, CUDA) whatever its log level.

    Python exceptions are still raised. To see the lines of C++, for example when the import aborts on an old
    processor, set TF_CPP_MIN_LOG_LEVEL=0.
    """
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def _without(names):
    """A block in which an import of these packages fails, unless they are there already."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


@contextlib.contextmanager
def _without_garbage_collection():
    """A block that makes hundreds of thousands of objects, of which none is garbage: looking for it takes a
    sixth of the time. A command never looks at them again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _left_out:
            gc.freeze()
        if was_enabled:
            gc.enable()


def load_less():
    """For a process that is a command of kbert: TensorFlow loads without what no command needs of it, and
    Keras runs on it, whatever the shell says for other programs."""
    _left_out.extend(_ONLY_FOR_KERAS)
    os.environ["KERAS_BACKEND"] = "tensorflow"


# TensorFlow leaves oneDNN out on x86 processors without VNNI, where answers then took 1.1 to 1.3 times
# as long (docs/serving_speed.md).
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

os.environ.setdefault("KERAS_BACKEND", "tensorflow")  # before ~/.keras/keras.json
if _LEGACY_KERAS in os.environ and importlib.util.find_spec("tf_keras") is None:
    del os.environ[_LEGACY_KERAS]  # TF-Text asks for tf.keras, which would not load

# Level 3 hides all lines but fatal ones; anything important is also raised as a Python exception. It may also
# be inherited from a script that started this process.
if os.environ.setdefault(_LOG_LEVEL, "3") == "3" and "tensorflow" not in sys.modules:
    sys.meta_path.insert(0, _QuietImport())
