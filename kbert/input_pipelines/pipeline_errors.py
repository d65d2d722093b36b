"""What Python code raised inside an input pipeline, where TensorFlow wraps it."""

import builtins
import contextlib
import re

MENDABLE = (ValueError, OSError, FloatingPointError, MemoryError)  # by a user, who gets their message
# TensorFlow's script_ops.py writes "<type>: <message>", the traceback, and the same again.
_RAISED = re.compile(r"\b(\w*(?:Error|Exception)): (.*?)\nTraceback \(most recent call last\):", re.S)


def own_error(error: BaseException) -> Exception | None:
    """The error that an error of TensorFlow stands around, as its class in `MENDABLE`; None for any other."""
    if type(error).__module__.startswith("tensorflow."):
        for name, message in _RAISED.findall(str(error))[:1]:
            kind = getattr(builtins, name, None)
            # Not `kind` itself: a UnicodeDecodeError, for one, takes more than a message.
            return next((base(message) for base in MENDABLE if kind and issubclass(kind, base)), None)
    return None


@contextlib.contextmanager
def raising_own_errors():
    """Inside, what a pipeline's Python code raised is raised as itself."""
    try:
        yield
    except Exception as error:
        if own := own_error(error):
            raise own from None
        raise
