"""Finds errors that Python code raised inside an input pipeline: TensorFlow wraps them in long messages."""

import builtins
import re
import sys

# TensorFlow's script_ops.py writes "<type>: <message>", the traceback, and the same again.
_RAISED = re.compile(r"\b(\w*(?:Error|Exception)): (.*?)\nTraceback \(most recent call last\):\n", re.DOTALL)


def error_inside(error: BaseException) -> Exception | None:
    """The built-in exception that was raised in a Python function of a tf.data pipeline.

    Args:
      error: the exception that TensorFlow raised.

    Returns:
      An exception of the same type with the same message, for example a ValueError; or None when `error` is
      not one of TensorFlow's or holds no such exception.
    """
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(error, tensorflow.errors.OpError):
        return None
    match = _RAISED.search(error.message)
    if match is None:
        return None
    kind = getattr(builtins, match[1], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    try:
        return kind(match[2])
    except TypeError:  # its constructor needs more than a message
        return ValueError(match[2])
